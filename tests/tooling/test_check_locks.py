"""Checks of lock files, and the verdict of an audit."""

import json

from scripts.audit import audit_of, verdict
from scripts.check_locks import faults, yanked

HASH = f"    --hash=sha256:{'0' * 64}"


def test_pins_with_hashes_are_accepted() -> None:
    assert (
        list(
            faults(
                "x", ["a==1 \\", f"{HASH} \\", HASH, "    # via b", "b==2 ; python_version < '3' \\", HASH]
            )
        )
        == []
    )


def test_everything_else_is_named() -> None:
    lines = ["a==1", "b>=2 \\", "c==3 \\", "d==4 \\", HASH, "--index-url x"]
    assert [one.partition(": ")[0] for one in faults("x", lines)] == ["x:1", "x:2", "x:3", "x:6"]


def test_yanked_releases_are_named_with_the_reason() -> None:
    output = 'warning: `a==1` is yanked (reason: "bad")\nwarning: `b==2` is yanked\n + c==3\n'
    assert list(yanked(output)) == [
        'a==1 was yanked from the index: "bad"; lock another version',
        "b==2 was yanked from the index: no reason given; lock another version",
    ]


def report(*dependencies: dict[str, object]) -> str:
    return json.dumps({"dependencies": dependencies, "fixes": []})


SAFE: dict[str, object] = {"name": "a", "version": "1", "vulns": []}
WEAK: dict[str, object] = {"name": "b", "version": "2", "vulns": [{"id": "CVE-1", "fix_versions": ["3"]}]}
UNKNOWN: dict[str, object] = {"name": "c", "skip_reason": "not found"}


def test_vulnerabilities_fail_the_audit() -> None:
    code, lines = verdict(audit_of(report(SAFE, WEAK, UNKNOWN)))
    assert code == 1
    assert lines[0] == "b 2: CVE-1, fixed in 3"
    assert lines[1] == "audit: 1 packages were not found: c"
    assert verdict(audit_of(report(SAFE)))[0] == 0


def test_audit_without_a_database_does_not_succeed() -> None:
    for nothing in ("", report(UNKNOWN), report()):
        code, [line] = verdict(audit_of(nothing))
        assert (code, "NOTHING IS KNOWN" in line) == (2, True)
