"""Recording of the matrix: sends all requests to a real Apache Kafka."""

import asyncio
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.api.authorization.golden_files import written
from tests.api.authorization.kafka import kafka_backend
from tests.api.authorization.playing import answers_of
from tests.api.authorization.world import World


def recorded(directory: Path, apis: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Run a broker, and yield each API with its answers as text."""
    with kafka_backend(directory / "kafka") as backend, asyncio.Runner() as loop:
        world = World(backend)
        loop.run(world.start())
        for api in apis:
            yield api, written(loop.run(answers_of(world, api)))
