"""Protocol of a job process: one order line in, one answer line out, until its input ends."""

import sys

import msgspec

from benchmarks.to_table.orders import READY, Answer, AnyOrder


def say_ready() -> None:
    print(READY, flush=True)


def next_order() -> AnyOrder | None:
    """Return the next order; None at the end of input."""
    line = sys.stdin.readline()
    return msgspec.json.decode(line, type=AnyOrder) if line else None


def reply(answer: Answer) -> None:
    print(msgspec.json.encode(answer).decode(), flush=True)
