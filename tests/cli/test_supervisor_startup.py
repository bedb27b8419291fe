"""Startup of `dray up --brokers N` with real processes, and errors at startup."""

import json
import signal
import socket
from pathlib import Path

import pytest

from dray.testing.ports import free_ports
from tests.cli.invoking import invoke
from tests.cli.up_process import running, up

pytestmark = pytest.mark.slow

SECRET = "correct-horse-battery-staple"


@pytest.mark.parametrize("attempt", range(4))
def test_brokers_starting_together_on_empty_stores_form_one_cluster(tmp_path: Path, attempt: int) -> None:
    flags = [flag for flag in up(4) if not flag.startswith("--broker-id")]
    with running(*flags, cwd=tmp_path) as command:
        served = command.served(4)
        assert [one.broker_id for one in served] == [1, 2, 3, 4]
        assert len({one.kafka for one in served} | {one.http for one in served}) == 8
        bootstrap = served[attempt].kafka
        created = invoke("topics", "create", "t", "--partitions=32", bootstrap=bootstrap)
        assert created.code == 0, created.err
        stdin = b"".join(b"%d=%d\n" % (number, number) for number in range(100))
        produced = invoke("produce", "t", "--key-separator==", "-q", stdin=stdin, bootstrap=bootstrap)
        assert produced.code == 0, produced.err
        for one in served:
            shown = invoke("consume", "t", "--no-follow", bootstrap=one.kafka)
            assert sorted(map(int, shown.lines)) == list(range(100))
        described = invoke("topics", "describe", "t", "--json", bootstrap=served[0].kafka)
        assert {one["leader"] for one in json.loads(described.out)[0]["partitions"]} == {1, 2, 3, 4}
        assert command.end(signal.SIGTERM) == 0
    assert command.rest == ""
    events = {json.loads(line)["event"] for line in command.errors}
    assert events == {"change_requested", "shutdown_started"}, "the creation of a topic is audited"
    assert sorted(path.name for path in (tmp_path / "dray-data").iterdir()) == [
        "metadata.sqlite",
        "metadata.sqlite-lock",
        "objects",
    ]


def test_ports_and_ids_are_consecutive(tmp_path: Path) -> None:
    port = free_ports(4)[0]
    flags = ["--broker-id=5", f"--listen=127.0.0.1:{port}", f"--http=127.0.0.1:{port + 2}"]
    with running("up", "--brokers=2", *flags, cwd=tmp_path) as command:
        served = command.served(2)
        assert [(one.broker_id, one.kafka, one.http) for one in served] == [
            (5, f"127.0.0.1:{port}", f"127.0.0.1:{port + 2}"),
            (6, f"127.0.0.1:{port + 1}", f"127.0.0.1:{port + 3}"),
        ]


@pytest.mark.parametrize("number", [1, 2, 3])
def test_port_in_use_is_reported_once_and_no_process_stays(tmp_path: Path, number: int) -> None:
    first = free_ports(3)[0]
    port = first + number - 1
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", port))
        taken.listen()
        flags = ["--http=127.0.0.1:0", f"--listen=127.0.0.1:{first}"]
        with running("up", "--brokers=3", *flags, cwd=tmp_path) as command:
            assert command.end() == 1
    remedy = "address already in use; stop the process that uses it, or choose another address"
    error = f"dray: broker at 127.0.0.1:{port}: cannot listen on 127.0.0.1:{port}: {remedy}\n"
    # A broker that was up already logs that it stops.
    assert [line for line in command.errors if '"event": "shutdown_started"' not in line] == [error]
    assert command.rest == ""


@pytest.mark.parametrize(
    ("flags", "advice"),
    [
        ([], "--data-dir"),
        (["--data-dir=file/data"], "--data-dir"),
        (["--metadata=sqlite:file/m.sqlite"], "--metadata"),
        (["--metadata=sqlite:m.sqlite", "--storage=file:file/objects"], "--storage"),
    ],
)
def test_error_common_to_all_brokers_is_reported_once(tmp_path: Path, flags: list[str], advice: str) -> None:
    for name in ("dray-data", "file"):
        (tmp_path / name).write_text("not a directory")
    with running(*up(3, *flags), cwd=tmp_path) as command:
        assert command.end() == 1
    (line,) = command.errors
    assert line.startswith("dray: broker ")
    assert "cannot create the directory" in line
    assert line.endswith(f"; fix that, or choose another {advice}\n")


def test_secrets_are_not_in_command_line_or_environment(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(SECRET)
    (tmp_path / "dray.yaml").write_text(
        f"storage: {{access_key_id: a, secret_access_key: 'file:{tmp_path}/key', session_token: {SECRET}}}\n"
    )
    with running(*up(2, "--config=dray.yaml"), cwd=tmp_path) as command:
        command.served(2)
        for pid in (command.process.pid, *command.children()):
            assert SECRET.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()
            assert SECRET.encode() not in Path(f"/proc/{pid}/environ").read_bytes()


def test_dray_in_the_working_directory_is_not_imported(tmp_path: Path) -> None:
    (tmp_path / "dray").mkdir()
    (tmp_path / "dray" / "__init__.py").write_text("raise SystemExit('imported from the working directory')")
    with running(*up(2), cwd=tmp_path) as command:
        command.served(2)
