"""Handle of a client program: started once, used for many requests.

Responses are read by a thread into a queue, so that a silent program is reported after `ANSWER_S` and not by
the timeout of the test run.
"""

import queue
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Final

import msgspec

from tests.clients.protocol import (
    Answer,
    Codec,
    Committed,
    Consume,
    CreateTopic,
    DescribeTopic,
    Done,
    Failed,
    Join,
    Leave,
    Line,
    Load,
    Produce,
    Read,
    Ready,
    Record,
    Request,
    Start,
)
from tests.oracle.environment import ROOT, unmeasured

ANSWER_S: Final = 60.0
_SHOWS_S: Final = 10.0
_SETTLING: Final = {3, 5, 6}  # unknown topic, no leader yet, not the leader


class ClientFailed(Exception):
    """The library reported an error; `code` is Kafka's error code if it came from a broker."""

    def __init__(self, message: str, code: int | None) -> None:
        super().__init__(message)
        self.code = code


class ClientBroken(Exception):
    """The program exited, timed out or sent an invalid response; the message ends with its log."""


class ClientProcess:
    """One program; one request at a time."""

    def __init__(self, command: Sequence[str], log: Path) -> None:
        self._log = log
        with log.open("ab") as errors:  # a restarted one appends to the same log
            self._process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=unmeasured(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests: IO[bytes] = self._process.stdin
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._reader = threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True)
        self._reader.start()
        self._decoder = msgspec.json.Decoder(Answer)
        self._asked = False

    @property
    def idle(self) -> bool:
        """Whether the program is running and has answered all requests."""
        return not self._asked and self._process.poll() is None

    def close(self) -> None:
        """End the program by closing its input; kill it if it does not exit."""
        try:
            self._requests.close()
            self._process.wait(5)
        except (BrokenPipeError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        self._reader.join()

    def kill(self) -> None:
        """Kill the program; responses sent before that can still be read."""
        self._process.kill()
        self._process.wait()

    def create_topic(self, topic: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
        """Create a topic and wait until every partition responds.

        In a new topic's first milliseconds Apache Kafka may reject the first batch of an idempotent producer
        (not the leader yet) and accept the second, whatever its sequence: the first then always fails.
        """
        self._done(CreateTopic(topic, partitions, configs or {}))
        assert len(self.describe_topic(topic)) == partitions

    def describe_topic(self, topic: str) -> list[tuple[int, int]]:
        """Return the first and the end offset of each partition; retries for a newly created topic."""
        deadline = time.monotonic() + _SHOWS_S
        while True:
            try:
                return list(self._done(DescribeTopic(topic)).bounds)
            except ClientFailed as failed:
                if failed.code not in _SETTLING or time.monotonic() > deadline:
                    raise

    def produce(
        self,
        topic: str,
        records: Sequence[Record],
        codec: Codec | None = None,
        *,
        idempotent: bool | None = None,
        bytes_max: int | None = None,
        transactional_id: str | None = None,
    ) -> list[tuple[int, int]]:
        """Write the records and return the partition and offset of each."""
        request = Produce(topic, records, codec, idempotent, bytes_max, transactional_id)
        return list(self._done(request).placed)

    def consume(
        self,
        topic: str,
        count: int,
        partitions: Sequence[int] = (0,),
        start: Start = "earliest",
        value: int = 0,
    ) -> list[Record]:
        """Return the next `count` records, in the order the library returned them."""
        return list(self.begin_consume(Consume(topic, count, partitions, start, value)))

    def begin_consume(self, request: Consume) -> Iterator[Record]:
        """Like `consume`, but yields records as they arrive; for `latest`, once the start is resolved."""
        self._ask(request)
        if request.start == "latest":
            self._expect(Ready)
        return self._records()

    def join(self, request: Join) -> Iterator[Read | Committed]:
        """Yield the reports of a group member until it leaves; raises `ClientBroken` if the program exits."""
        self._ask(request)
        while not isinstance(answer := self._expect(Read, Committed, Done), Done):
            assert isinstance(answer, Read | Committed)
            yield answer

    def leave(self) -> None:
        """Ask the group member to leave; the generator of `join` ends once it has."""
        self._ask(Leave())

    def begin_load(self, topic: str) -> None:
        """Let the program write until `end_load`."""
        self._ask(Load(topic))

    def end_load(self) -> list[tuple[int, int]]:
        """Return the partition and offset of each record that was written; raises if one was not."""
        self._ask(Leave())
        answer = self._expect(Done)
        assert isinstance(answer, Done)
        return list(answer.placed)

    def _records(self) -> Iterator[Record]:
        while not isinstance(answer := self._expect(Read, Done), Done):
            assert isinstance(answer, Read)
            yield answer.record

    def _done(self, request: Request) -> Done:
        self._ask(request)
        answer = self._expect(Done)
        assert isinstance(answer, Done)
        return answer

    def _ask(self, request: Line) -> None:
        self._asked = True
        try:
            self._requests.write(msgspec.json.encode(request) + b"\n")
            self._requests.flush()
        except BrokenPipeError as error:
            raise self._broken("has ended") from error

    def _expect(self, *kinds: type[Answer]) -> Answer:
        answer = self._next()
        self._asked = not isinstance(answer, Done | Failed)
        if isinstance(answer, Failed):
            raise ClientFailed(answer.message, answer.code)
        if not isinstance(answer, kinds):
            raise self._broken(f"answered {answer}")
        return answer

    def _next(self) -> Answer:
        try:
            line = self._lines.get(timeout=ANSWER_S)
        except queue.Empty as error:
            self._process.kill()
            raise self._broken(f"said nothing for {ANSWER_S} s") from error
        if not line:
            raise self._broken("has ended")
        try:
            answer: Answer = self._decoder.decode(line)
        except msgspec.DecodeError as error:
            raise self._broken(f"wrote {line[:200]!r}") from error
        return answer

    def _read(self, output: IO[bytes]) -> None:
        with output:
            for line in output:
                self._lines.put(line)
        self._lines.put(b"")

    def _broken(self, what: str) -> ClientBroken:
        log = self._log.read_text(errors="replace")
        return ClientBroken(f"{self._log.stem} {what}; its log ends with:\n{log[-3000:]}")
