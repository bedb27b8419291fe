"""An ordeal of a group: its members are split between two brokers, and its caretaker dies again and again.

A producer sends numbered records all the while; with these the end compares what the members have read and
committed. What is committed is asked after all brokers were killed once more, of each of them alone.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka.admin import AdminClient

from tests.chaos.groups.company import Company, Pair
from tests.chaos.groups.feed import Feed, make_topic
from tests.chaos.groups.histories import Ledger, Read
from tests.chaos.groups.members import HEARTBEAT_S, SESSION_S, Group, Protocol
from tests.chaos.groups.rounds import Recovery, Rounds, Scene, Stuck
from tests.chaos.groups.rules import ends, violations
from tests.chaos.groups.summary import late, summary
from tests.chaos.ordeal import Figures
from tests.chaos.producers import TOPIC
from tests.chaos.victims import Victim, running_victims

_FINISH_S = 60.0


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done."""

    protocol: Protocol
    times: int
    options: Sequence[str] = ()
    """More options of `dray up`."""
    seed: int = 1
    program: Sequence[str] = ("tests.chaos.doomed",)
    """What is run in place of `dray`."""


def undergo(plan: Plan, directory: Path, say: Callable[[str], None]) -> Figures:
    """Do as planned, with everything local in `directory`."""
    recoveries: list[Recovery] = []
    wrong: list[str] = []
    with running_victims(2, directory, (*_sessions(), *plan.options), plan.program) as victims:
        with _scene(plan, directory, victims) as (scene, feed):
            try:
                for recovery in _go_through(plan, scene):
                    recoveries.append(recovery)
                    say(f"{len(recoveries)} of {plan.times}: {recovery}")
            except Stuck as error:
                wrong.append(f"recovered: {error}")
            feed.stopping.set()
            told = feed.finish()
            scene.ledger.await_positions(ends(told), _FINISH_S)  # what is missing then the rules tell
        if recoveries:
            say(summary(recoveries, scene.company.complaints))
        wrong += violations(told, scene.ledger, _committed(victims, scene.group))
    return Figures(
        faults=Counter(f"in {one.state}" for one in recoveries),
        acknowledged=len(told.acknowledged),
        meanwhile=_meanwhile(scene.ledger, recoveries),
        followed=sum(isinstance(event, Read) for event in scene.ledger.events),
        wrong=(*late(recoveries), *wrong),
    )


def _sessions() -> Iterator[str]:
    """What the client says in the classic protocol is the broker's to say in the other."""
    session_ms, heartbeat_ms = int(SESSION_S * 1000), int(HEARTBEAT_S * 1000)
    for least in ("", "min_"):
        yield from ("--set", f"groups.consumer_{least}session_timeout_ms={session_ms}")
        yield from ("--set", f"groups.consumer_{least}heartbeat_interval_ms={heartbeat_ms}")


@contextmanager
def _scene(plan: Plan, directory: Path, victims: Sequence[Victim]) -> Iterator[tuple[Scene, Feed]]:
    """A group that reads what is fed; both have ended afterwards."""
    bootstrap = ",".join(victim.address for victim in victims)
    make_topic(bootstrap)
    ledger, group = Ledger(), Group(f"{plan.protocol}-group", TOPIC, plan.protocol, bootstrap)
    pair = Pair(dict(enumerate(victims, 1)), group.name)
    company = Company(group, pair, ledger)
    feed = Feed("p0", bootstrap, zone="")  # of no zone: it sees all brokers
    feed.start()
    company.assemble()
    try:
        yield Scene(group, pair, company, ledger, directory), feed
    finally:
        feed.stopping.set()
        company.dissolve()


def _go_through(plan: Plan, scene: Scene) -> Iterator[Recovery]:
    rounds = Rounds(scene, Random(plan.seed))
    try:
        for _ in range(plan.times):
            yield rounds.go()
        rounds.settle()
    finally:
        rounds.close()


def _committed(victims: Sequence[Victim], group: Group) -> list[dict[int, int]]:
    """What each broker alone has, with nothing in its memory."""
    found = []
    for victim in victims:
        victim.kill()
    for victim in victims:
        victim.start()
        admin = AdminClient({"bootstrap.servers": victim.address, "log_level": 0})
        asked = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group.name)])
        partitions = asked[group.name].result(30).topic_partitions
        found.append({one.partition: one.offset for one in partitions})
        victim.kill()
    return found


def _meanwhile(ledger: Ledger, recoveries: Sequence[Recovery]) -> int:
    """How many records were read while a broker was away."""
    begins = [one.since for one in recoveries]
    count = 0
    for event in ledger.events:
        last = bisect_right(begins, event.at) - 1
        count += isinstance(event, Read) and last >= 0 and event.at < recoveries[last].until
    return count
