"""The loop of a program that carries out orders: one line in, one line out, until its input ends."""

import sys

import msgspec

from benchmarks.to_table.orders import READY, Answer, AnyOrder


def say_ready() -> None:
    print(READY, flush=True)


def next_order() -> AnyOrder | None:
    """Wait for an order; None at the end."""
    line = sys.stdin.readline()
    return msgspec.json.decode(line, type=AnyOrder) if line else None


def tell(answer: Answer) -> None:
    print(msgspec.json.encode(answer).decode(), flush=True)
