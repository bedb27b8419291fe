"""Preparation of tests: `python -m tests.clients` downloads and builds client programs and servers.

Programs without a toolchain on this machine are skipped and listed with the command that installs it.
"""

import sys
import time
from collections.abc import Callable
from functools import partial

from tests.chaos.cluster import clock, isolation
from tests.clients import word_count
from tests.clients.registry import CLIENTS
from tests.meta.etcd_program import etcd_program
from tests.objects.emulators import azurite_program, gcs_program
from tests.oracle import debian
from tests.parts import PARTS


def main() -> None:
    for client in CLIENTS.values():
        make(client.name, client.part, partial(client.command, "127.0.0.1:9092"))
    make("Kafka Streams", "java", word_count.class_path)
    make("etcd", "etcd", etcd_program)
    if isolation.program() is None and debian.install(isolation.PACKAGES):
        isolation.program.cache_clear()
    make("chaos cluster", "namespaces", clock.library)
    make("Google Cloud Storage", "gcs", gcs_program)
    make("Azurite", "azure", azurite_program)


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
