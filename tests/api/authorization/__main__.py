"""Command that records the matrix from Apache Kafka, or shows how Dray differs.

python -m tests.api.authorization --record [API …]     record the answers of Kafka again
python -m tests.api.authorization [API …]              show the differences of Dray
"""

import argparse
import asyncio
import logging
import sys
import tempfile
from pathlib import Path

from tests.api.authorization.comparing import contradictions_of
from tests.api.authorization.golden_files import GOLDEN, path_of, written
from tests.api.authorization.kafka import KafkaBackend, kafka_backend
from tests.api.authorization.playing import APIS, answers_of
from tests.api.authorization.world import World


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.api.authorization",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("apis", nargs="*", help="names of APIs; all by default")
    parser.add_argument("--record", action="store_true", help="record the answers of Kafka again")
    options = parser.parse_args()
    apis = options.apis or list(APIS)
    if options.record:
        with tempfile.TemporaryDirectory() as directory, kafka_backend(Path(directory) / "kafka") as backend:
            asyncio.run(_record(backend, apis))
        return
    logging.disable()  # the audit log has a line for each denial
    for api in apis:
        for found in contradictions_of(api):
            if not found.explained:
                sys.stdout.write(f"{found}\n")


async def _record(backend: KafkaBackend, apis: list[str]) -> None:
    world = World(backend)
    await world.start()
    GOLDEN.mkdir(exist_ok=True)
    for api in apis:
        answers = await answers_of(world, api)
        path_of(api).write_text(written(answers))
        sys.stdout.write(f"{api}: {sum(map(len, answers.values()))} answers\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
