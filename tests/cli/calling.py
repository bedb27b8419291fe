"""Calling `dray` in this process, with bytes for standard input and output; and as a process of its own."""

import os
import subprocess
import sys
from dataclasses import dataclass
from itertools import count

from click.testing import CliRunner

from dray.cli import main
from dray.testing.broker import EmbeddedBroker

_numbers = count()


@dataclass(frozen=True, slots=True)
class Called:
    """How a call ended."""

    code: int
    out: bytes
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.decode().splitlines()


def call(*arguments: str, stdin: bytes = b"", bootstrap: str | None = None) -> Called:
    """Run a command; `DRAY_*` variables of the machine are left out."""
    env: dict[str, str | None] = {name: None for name in os.environ if name.startswith("DRAY_")}
    env["DRAY_BOOTSTRAP"] = bootstrap
    with CliRunner().isolation(stdin, env) as (out, err, _):
        code = main.run(list(arguments))
        sys.stdout.flush()
        return Called(code, out.getvalue(), err.getvalue().decode())


def good(*arguments: str, stdin: bytes = b"", kafka: EmbeddedBroker) -> Called:
    """Run a command against a broker; it must succeed."""
    called = call(*arguments, stdin=stdin, bootstrap=kafka.bootstrap)
    assert called.code == 0, called.err
    return called


def process(
    *arguments: str,
    kafka: EmbeddedBroker,
    stdin: int = subprocess.PIPE,
    stderr: int = subprocess.PIPE,
) -> "subprocess.Popen[bytes]":
    """Start a command, with pipes unless told otherwise."""
    return subprocess.Popen(
        [sys.executable, "-m", "dray", *arguments],
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=stderr,
        env={**os.environ, "DRAY_BOOTSTRAP": kafka.bootstrap},
    )


def new_topic(kafka: EmbeddedBroker, partitions: int = 1, **configs: str) -> str:
    """Make a topic that no other test uses; unless told otherwise it keeps what is written, however old."""
    name = f"cli-{os.getpid()}-{next(_numbers)}"
    pairs = [
        f"--config={key.replace('_', '.')}={value}"
        for key, value in ({"retention_ms": "-1"} | configs).items()
    ]
    good("topics", "create", name, f"--partitions={partitions}", *pairs, kafka=kafka)
    return name
