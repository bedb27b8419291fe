"""`dray up --brokers N` with real processes: how they start, and how they cannot."""

import json
import os
import signal
import socket
from pathlib import Path

import pytest

from tests.cli.calling import call
from tests.cli.up_process import running, up

pytestmark = pytest.mark.slow

SECRET = "correct-horse-battery-staple"


@pytest.mark.parametrize("attempt", range(4))
def test_brokers_that_start_at_once_on_nothing_make_one_cluster(tmp_path: Path, attempt: int) -> None:
    with running(*up(4), cwd=tmp_path) as fleet:
        served = fleet.served(4)
        assert [one.broker_id for one in served] == [1, 2, 3, 4]
        assert len({one.kafka for one in served} | {one.http for one in served}) == 8
        bootstrap = served[attempt].kafka
        created = call("topics", "create", "t", "--partitions=32", bootstrap=bootstrap)
        assert created.code == 0, created.err
        stdin = b"".join(b"%d=%d\n" % (number, number) for number in range(100))
        produced = call("produce", "t", "--key-separator==", "-q", stdin=stdin, bootstrap=bootstrap)
        assert produced.code == 0, produced.err
        for one in served:
            shown = call("consume", "t", "--no-follow", bootstrap=one.kafka)
            assert sorted(map(int, shown.lines)) == list(range(100))
        described = call("topics", "describe", "t", "--json", bootstrap=served[0].kafka)
        assert {one["leader"] for one in json.loads(described.out)[0]["partitions"]} == {1, 2, 3, 4}
        assert fleet.end(signal.SIGTERM) == 0
    assert fleet.rest == ""
    assert {json.loads(line)["event"] for line in fleet.errors} == {"stopping"}
    assert sorted(path.name for path in (tmp_path / "dray-data").iterdir()) == [
        "metadata.sqlite",
        "metadata.sqlite-lock",
        "objects",
    ]


def test_ports_and_ids_follow_the_first(tmp_path: Path) -> None:
    port = _first_of_free_ports(4)
    flags = ["--broker-id=5", f"--listen=127.0.0.1:{port}", f"--http=127.0.0.1:{port + 2}"]
    with running("up", "--brokers=2", *flags, cwd=tmp_path) as fleet:
        served = fleet.served(2)
        assert [(one.broker_id, one.kafka, one.http) for one in served] == [
            (5, f"127.0.0.1:{port}", f"127.0.0.1:{port + 2}"),
            (6, f"127.0.0.1:{port + 1}", f"127.0.0.1:{port + 3}"),
        ]


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_port_in_use_is_told_once_and_none_stays(tmp_path: Path, number: int) -> None:
    first = _first_of_free_ports(3)
    port = first + number - 1
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", port))
        taken.listen()
        flags = ["--http=127.0.0.1:0", f"--listen=127.0.0.1:{first}"]
        with running("up", "--brokers=3", *flags, cwd=tmp_path) as fleet:
            assert fleet.end() == 1
    remedy = "address already in use; stop what uses it, or choose another address"
    told = f"dray: broker {number}: cannot listen on 127.0.0.1:{port}: {remedy}\n"
    # One that was up already says that it stops.
    assert [line for line in fleet.errors if '"event": "stopping"' not in line] == [told]
    assert fleet.rest == ""


@pytest.mark.parametrize(
    ("flags", "advice"),
    [
        ([], "--data-dir"),
        (["--data-dir=file/data"], "--data-dir"),
        (["--metadata=sqlite:file/m.sqlite"], "--metadata"),
        (["--metadata=sqlite:m.sqlite", "--storage=file:file/objects"], "--storage"),
    ],
)
def test_what_all_of_them_meet_is_told_once(tmp_path: Path, flags: list[str], advice: str) -> None:
    for name in ("dray-data", "file"):
        (tmp_path / name).write_text("no directory")
    with running(*up(3, *flags), cwd=tmp_path) as fleet:
        assert fleet.end() == 1
    (line,) = fleet.errors
    assert line.startswith("dray: broker ")
    assert "cannot make the directory" in line
    assert line.endswith(f"; mend that, or give another {advice}\n")


def test_secrets_are_neither_on_the_command_line_nor_in_the_environment(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(SECRET)
    (tmp_path / "dray.yaml").write_text(
        f"storage: {{access_key_id: a, secret_access_key: 'file:{tmp_path}/key', session_token: {SECRET}}}\n"
    )
    with running(*up(2, "--config=dray.yaml"), cwd=tmp_path) as fleet:
        fleet.served(2)
        for pid in (fleet.process.pid, *fleet.children()):
            assert SECRET.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()
            assert SECRET.encode() not in Path(f"/proc/{pid}/environ").read_bytes()


def test_a_working_directory_that_looks_like_dray_is_not_imported(tmp_path: Path) -> None:
    (tmp_path / "dray").mkdir()
    (tmp_path / "dray" / "__init__.py").write_text("raise SystemExit('imported what is not ours')")
    with running(*up(2), cwd=tmp_path) as fleet:
        fleet.served(2)


def _first_of_free_ports(count: int) -> int:
    """Return a port that is free with those behind it, where the system itself chooses none."""
    bases = list(range(20_000, 30_000, count))
    start = os.getpid() % len(bases)  # not where other tests look at the same time
    for base in bases[start:] + bases[:start]:
        if all(map(_is_free, range(base, base + count))):
            return base
    raise AssertionError("there are no free ports")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0
