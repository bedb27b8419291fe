"""Kafka's tools in one long-running JVM: the classes of `tests.oracle.tools`, without a start for each.

An exit of a tool is an exception there. Some tools fail if it does not end the JVM.
"""

import json
import subprocess
import threading
from pathlib import Path

from tests.clients.registry import java_classes
from tests.oracle import jars
from tests.oracle.tools import Ran


class ToolHost:
    """Runs one tool at a time; further calls wait."""

    def __init__(self, log: Path) -> None:
        command = jars.java("ToolHost", extra=str(java_classes()))
        with log.open("wb") as errors:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
            )
        self._lock = threading.Lock()

    def run(self, main: str, bootstrap: str, *arguments: str) -> Ran:
        """Run a class that takes `--bootstrap-server`."""
        request = {"main": main, "arguments": ["--bootstrap-server", bootstrap, *arguments]}
        with self._lock:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.write(f"{json.dumps(request)}\n")
            self._process.stdin.flush()
            return Ran(**json.loads(self._process.stdout.readline()))

    def consumer_groups(self, bootstrap: str, *arguments: str) -> Ran:
        return self.run("org.apache.kafka.tools.consumer.group.ConsumerGroupCommand", bootstrap, *arguments)

    def close(self) -> None:
        self._process.communicate()
