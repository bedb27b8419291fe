"""Apache Kafka's command-line tools, run against a broker: one JVM per call, about a second each.

The arguments are those of the shell scripts of a Kafka distribution, which just start these classes.
What a tool logs (warnings and worse) is in its standard error. A tool that hangs is killed after `WAIT_S`
and counts as failed with `KILLED`.
"""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.oracle.jars import java

WAIT_S: Final = 60.0
KILLED: Final = -9
_TOOLS: Final = "org.apache.kafka.tools"


@dataclass(frozen=True, slots=True)
class Ran:
    """A tool's exit code and output."""

    code: int
    stdout: str
    stderr: str

    @property
    def lines(self) -> list[str]:
        """Return its output if it succeeded; otherwise fail the test with everything it printed."""
        assert self.code == 0, f"ended with {self.code}:\n{self.stdout}\n{self.stderr}"
        return self.stdout.splitlines()


def run(main: str, bootstrap: str, *arguments: str, stdin: str = "") -> Ran:
    """Run any class that takes `--bootstrap-server`."""
    command = java(main, "--bootstrap-server", bootstrap, *arguments)
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            stdout, stderr = process.communicate(stdin, WAIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            stdout, stderr = process.communicate()
            return Ran(KILLED, stdout, f"{stderr}\nkilled after {WAIT_S} s")
    return Ran(process.returncode, stdout, stderr)


def topics(bootstrap: str, *arguments: str) -> Ran:
    return run(f"{_TOOLS}.TopicCommand", bootstrap, *arguments)


def configs(bootstrap: str, *arguments: str) -> Ran:
    return run("kafka.admin.ConfigCommand", bootstrap, *arguments)


def acls(bootstrap: str, *arguments: str) -> Ran:
    return run(f"{_TOOLS}.AclCommand", bootstrap, *arguments)


def console_producer(bootstrap: str, *arguments: str, stdin: str) -> Ran:
    """Each line of `stdin` is a record."""
    return run(f"{_TOOLS}.ConsoleProducer", bootstrap, *arguments, stdin=stdin)


def console_consumer(bootstrap: str, *arguments: str) -> Ran:
    """With `--partition` it uses no group."""
    return run(f"{_TOOLS}.consumer.ConsoleConsumer", bootstrap, *arguments)


def get_offsets(bootstrap: str, *arguments: str) -> Ran:
    return run(f"{_TOOLS}.GetOffsetShell", bootstrap, *arguments)


def delete_records(bootstrap: str, before: Mapping[tuple[str, int], int], folder: Path) -> Ran:
    """Delete records before an offset in each partition; the tool's input file is written to `folder`."""
    partitions = [
        {"topic": topic, "partition": number, "offset": offset} for (topic, number), offset in before.items()
    ]
    file = folder / "delete-records.json"
    file.write_text(json.dumps({"version": 1, "partitions": partitions}))
    return run(f"{_TOOLS}.DeleteRecordsCommand", bootstrap, "--offset-json-file", str(file))


def log_dirs(bootstrap: str, *arguments: str) -> Ran:
    return run(f"{_TOOLS}.LogDirsCommand", bootstrap, *arguments)


def producer_perf(bootstrap: str, *arguments: str) -> Ran:
    return run(f"{_TOOLS}.ProducerPerformance", bootstrap, *arguments)


def consumer_perf(bootstrap: str, *arguments: str) -> Ran:
    """It always uses a group."""
    return run(f"{_TOOLS}.ConsumerPerformance", bootstrap, *arguments)


def broker_api_versions(bootstrap: str, *arguments: str) -> Ran:
    return run(f"{_TOOLS}.BrokerApiVersionsCommand", bootstrap, *arguments)


def transactions(bootstrap: str, *arguments: str) -> Ran:
    return run(f"{_TOOLS}.TransactionsCommand", bootstrap, *arguments)


def verifiable_producer(bootstrap: str, *arguments: str) -> Ran:
    return run(f"{_TOOLS}.VerifiableProducer", bootstrap, *arguments)


def verifiable_consumer(bootstrap: str, *arguments: str) -> Ran:
    """It always uses a group."""
    return run(f"{_TOOLS}.VerifiableConsumer", bootstrap, *arguments)


def consumer_groups(bootstrap: str, *arguments: str) -> Ran:
    return run(f"{_TOOLS}.consumer.group.ConsumerGroupCommand", bootstrap, *arguments)


def groups(bootstrap: str, *arguments: str) -> Ran:
    return run(f"{_TOOLS}.GroupsCommand", bootstrap, *arguments)
