"""Fetches and builds all that the client tests need, so that none has to wait: `python -m tests.clients`.

What the machine has no toolchain for is left out, and named with the command that installs it.
"""

import sys
import time
from collections.abc import Callable
from functools import partial

from tests.clients import word_count
from tests.clients.registry import CLIENTS
from tests.parts import PARTS


def main() -> None:
    for client in CLIENTS.values():
        make(client.name, client.part, partial(client.command, "127.0.0.1:9092"))
    make("Kafka Streams", "java", word_count.class_path)


def make(name: str, needed: str | None, build: Callable[[], object]) -> None:
    part = PARTS[needed] if needed else None
    if part and part.find() is None:
        report(f"{name}: {part.what} is missing. To have it: {part.install}")
    else:
        started = time.monotonic()
        build()
        report(f"{name}: ready after {time.monotonic() - started:.1f} s")


def report(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
