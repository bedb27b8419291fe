"""Report of moves compared with Apache Kafka, and of speed: `python -m tests.groups.assignors`."""

import sys

from dray.groups.consumer import ASSIGNORS
from tests.groups.assignors.kafka import kafka_assignors
from tests.groups.assignors.moves import compare
from tests.groups.assignors.speed import measure

HISTORIES, REBALANCES = 100, 20


def main() -> None:
    with kafka_assignors() as kafka:
        for mixed in (False, True):
            ours, theirs = compare(kafka, mixed=mixed, histories=HISTORIES, rebalances=REBALANCES)
            report(
                f"{HISTORIES} times {REBALANCES} rebalances, {_kind(mixed)} subscriptions: "
                f"moved {ours.moves} (Kafka {theirs.moves}), uneven {ours.uneven} (Kafka {theirs.uneven})"
            )
    for name, assignor in ASSIGNORS.items():
        for members, partitions in ((100, 1_000), (1_000, 10_000)):
            for mixed in (False, True):
                taken = measure(assignor, members, partitions, topics=20, mixed=mixed)
                report(
                    f"{name}, {members} members, {partitions} partitions of 20 topics, {_kind(mixed)}: "
                    "new {:.1f} ms, in balance {:.1f} ms, a third left {:.1f} ms".format(*taken)
                )


def _kind(mixed: bool) -> str:
    return "different" if mixed else "identical"


def report(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
