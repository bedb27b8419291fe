"""Invocations of `dray`, in this process with bytes for standard input and output, or as a process.

Also the execution of Python lines that it prints.
"""

import os
import subprocess
import sys
from dataclasses import dataclass
from itertools import count
from typing import Any

from click.testing import CliRunner

from dray.cli import main
from dray.testing.broker import EmbeddedBroker

_numbers = count()


@dataclass(frozen=True, slots=True)
class Result:
    """Exit code and output of a command."""

    code: int
    out: bytes
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.decode().splitlines()


def invoke(*arguments: str, stdin: bytes = b"", bootstrap: str | None = None) -> Result:
    """Run a command, without the `DRAY_*` variables of the environment."""
    env: dict[str, str | None] = {name: None for name in os.environ if name.startswith("DRAY_")}
    env["DRAY_BOOTSTRAP"] = bootstrap
    with CliRunner().isolation(stdin, env) as (out, err, _):
        code = main.run(list(arguments))
        sys.stdout.flush()
        return Result(code, out.getvalue(), err.getvalue().decode())


def invoke_ok(*arguments: str, stdin: bytes = b"", kafka: EmbeddedBroker) -> Result:
    """Run a command against a broker; it must succeed."""
    result = invoke(*arguments, stdin=stdin, bootstrap=kafka.bootstrap)
    assert result.code == 0, result.err
    return result


def start(
    *arguments: str,
    kafka: EmbeddedBroker,
    stdin: int = subprocess.PIPE,
    stderr: int = subprocess.PIPE,
) -> "subprocess.Popen[bytes]":
    """Start a command, by default with pipes."""
    return subprocess.Popen(
        [sys.executable, "-m", "dray", *arguments],
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=stderr,
        env={**os.environ, "DRAY_BOOTSTRAP": kafka.bootstrap},
    )


def pasted(line: str) -> Any:
    """Run a line as an interactive Python does, and return the value of its last statement."""
    *before, last = line.split("; ")
    names: dict[str, object] = {}
    exec("; ".join(before), names)
    return eval(last, names)


def new_topic(kafka: EmbeddedBroker, partitions: int = 1, **configs: str) -> str:
    """Create a topic that no other test uses, by default without retention."""
    name = f"cli-{os.getpid()}-{next(_numbers)}"
    pairs = [
        f"--config={key.replace('_', '.')}={value}"
        for key, value in ({"retention_ms": "-1"} | configs).items()
    ]
    invoke_ok("topics", "create", name, f"--partitions={partitions}", *pairs, kafka=kafka)
    return name
