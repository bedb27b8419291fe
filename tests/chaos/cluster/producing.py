"""Producer process: `python -m tests.chaos.cluster.producing ZONE JOURNAL PAUSE_S`.

One idempotent producer for each topic, until SIGTERM; then they flush, and the journal is written.
"""

import signal
import sys
from pathlib import Path

from tests.chaos.cluster import journals
from tests.chaos.cluster.security import Security
from tests.chaos.cluster.topology import TOPICS, bootstrap
from tests.chaos.producers import IMPATIENT, SteadyProducer


def main() -> None:
    zone, path, pause_s = sys.argv[1], Path(sys.argv[2]), float(sys.argv[3])
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    settings = {**IMPATIENT, **Security.of_environment().settings()}
    producers = {
        topic: SteadyProducer(
            f"{topic}-{zone}",
            bootstrap(zone),
            zone=zone,
            topic=topic,
            partitions=count,
            pause_s=pause_s,
            settings=settings,
        )
        for topic, count in TOPICS.items()
    }
    for producer in producers.values():
        producer.start()
    signal.sigwait({signal.SIGTERM})
    for producer in producers.values():
        producer.stopping.set()
    histories = {topic: [producer.finish()] for topic, producer in producers.items()}
    journals.write(path, journals.Journal(producers=histories))


if __name__ == "__main__":
    main()
