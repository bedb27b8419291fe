"""Lock files, which name no index, pin and hash every package, and cover the project's dependencies."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
PINNED = re.compile(r"^([a-z0-9][a-z0-9._-]*)==(\S+)( ;[^\\]*)? \\$")
HASH = re.compile(r"^    --hash=sha256:[0-9a-f]{64}( \\)?$")
ORIGIN = re.compile(r"^    #( |$)")

LOCKS = ["runtime", "tables", "aws", "dev", "spark"]
EXTRAS = ["aws", "tables", "spark"]


def lines(name: str) -> list[str]:
    return (ROOT / "requirements" / name).read_text().splitlines()


def locked(name: str) -> dict[str, set[str]]:
    """Return the versions of each package; there are several if none fits every Python."""
    found: dict[str, set[str]] = {}
    for line in lines(f"{name}.txt"):
        if match := PINNED.match(line):
            found.setdefault(match[1], set()).add(match[2])
    return found


def requested(name: str) -> set[str]:
    """Return the packages that an .in file names itself, without those of included files."""
    return {normal(line) for line in lines(f"{name}.in") if not line.startswith(("-r", "#"))}


def normal(requirement: str) -> str:
    return re.sub(r"[-_.]+", "-", Requirement(requirement).name).lower()


def project() -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return found


@pytest.mark.parametrize("name", LOCKS)
def test_every_line_is_a_pin_a_hash_or_an_origin(name: str) -> None:
    invalid = [x for x in lines(f"{name}.txt") if not any(p.match(x) for p in (PINNED, HASH, ORIGIN))]
    assert invalid == []


@pytest.mark.parametrize("name", LOCKS)
def test_every_pin_is_followed_by_a_hash(name: str) -> None:
    text = lines(f"{name}.txt")
    pins = [number for number, line in enumerate(text) if PINNED.match(line)]
    assert pins
    assert all(HASH.match(text[number + 1]) for number in pins)


@pytest.mark.parametrize("name", LOCKS)
def test_requested_packages_are_locked(name: str) -> None:
    assert requested(name)
    assert requested(name) <= locked(name).keys()


def test_locks_agree() -> None:
    """All are installed into one environment, and each includes what a broker needs."""
    runtime, tables, aws, dev, spark = map(locked, LOCKS)
    assert runtime.items() <= tables.items()
    assert tables.items() <= dev.items()
    assert aws.items() <= dev.items()
    assert tables.items() <= spark.items()
    assert {name: dev[name] for name in dev.keys() & spark.keys()} == {
        name: spark[name] for name in dev.keys() & spark.keys()
    }


def test_project_dependencies_are_the_requested_packages() -> None:
    assert {normal(x) for x in project()["dependencies"]} == requested("runtime")
    for extra in EXTRAS:
        named = {normal(x) for x in project()["optional-dependencies"][extra]}
        assert named - {"dray"} == requested(extra)
        includes_tables = "-r tables.in" in lines(f"{extra}.in")
        assert ("dray[tables]" in project()["optional-dependencies"][extra]) == includes_tables


@pytest.mark.parametrize("extra", EXTRAS)
def test_locked_versions_satisfy_the_project(extra: str) -> None:
    allowed = [*project()["dependencies"], *project()["optional-dependencies"][extra]]
    for requirement in map(Requirement, allowed):
        if requirement.name == "dray":
            continue  # another extra of ours
        for version in locked(extra)[normal(str(requirement))]:
            assert requirement.specifier.contains(version), f"{requirement} does not allow {version}"
