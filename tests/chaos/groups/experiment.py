"""Fault-injection experiment on a group: members on two brokers, whose owner broker is killed repeatedly.

A producer sends numbered records throughout; at the end they are compared with what the members have read and
committed. The committed offsets are read after all brokers were killed once more, from each of them alone.
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

from tests.chaos.experiment import Figures
from tests.chaos.groups.feed import Feed, make_topic
from tests.chaos.groups.histories import GroupHistory, Read
from tests.chaos.groups.members import HEARTBEAT_S, SESSION_S, Group, Protocol
from tests.chaos.groups.membership import BrokerPair, Membership
from tests.chaos.groups.rounds import GroupSetup, NoProgress, Recovery, Rounds
from tests.chaos.groups.rules import ends, violations
from tests.chaos.groups.summary import late, summary
from tests.chaos.producers import TOPIC
from tests.chaos.victims import Victim, running_victims

_FINISH_S = 60.0


@dataclass(frozen=True, slots=True)
class Plan:
    """The number of rounds, and the group and brokers to run them on."""

    protocol: Protocol
    times: int
    options: Sequence[str] = ()
    """More options of `dray up`."""
    seed: int = 1
    program: Sequence[str] = ("tests.chaos.failpoints",)
    """The module to run in place of `dray`."""


def run(plan: Plan, directory: Path, report: Callable[[str], None]) -> Figures:
    """Run the experiment, with all local files in `directory`."""
    recoveries: list[Recovery] = []
    found: list[str] = []
    with running_victims(2, directory, (*_sessions(), *plan.options), plan.program) as victims:
        with _setup(plan, directory, victims) as (setup, feed):
            try:
                for recovery in _rounds(plan, setup):
                    recoveries.append(recovery)
                    report(f"{len(recoveries)} of {plan.times}: {recovery}")
            except NoProgress as error:
                found.append(f"recovered: {error}")
            feed.stopping.set()
            producer = feed.finish()
            setup.history.await_positions(ends(producer), _FINISH_S)  # `rules` reports what is missing
        if recoveries:
            report(summary(recoveries, setup.membership.client_errors))
        found += violations(producer, setup.history, _committed(victims, setup.group))
    return Figures(
        faults=Counter(f"in {one.state}" for one in recoveries),
        acknowledged=len(producer.acknowledged),
        during_outages=_during_outages(setup.history, recoveries),
        consumed=sum(isinstance(event, Read) for event in setup.history.events),
        violations=(*late(recoveries), *found),
    )


def _sessions() -> Iterator[str]:
    """Return the broker settings for the timeouts that clients set in the classic protocol."""
    session_ms, heartbeat_ms = int(SESSION_S * 1000), int(HEARTBEAT_S * 1000)
    for minimum in ("", "min_"):
        yield from ("--set", f"groups.consumer_{minimum}session_timeout_ms={session_ms}")
        yield from ("--set", f"groups.consumer_{minimum}heartbeat_interval_ms={heartbeat_ms}")


@contextmanager
def _setup(plan: Plan, directory: Path, victims: Sequence[Victim]) -> Iterator[tuple[GroupSetup, Feed]]:
    """Run a producer and a group that consumes its topic; end both on exit."""
    bootstrap = ",".join(victim.address for victim in victims)
    make_topic(bootstrap)
    history, group = GroupHistory(), Group(f"{plan.protocol}-group", TOPIC, plan.protocol, bootstrap)
    pair = BrokerPair(dict(enumerate(victims, 1)), group.name)
    membership = Membership(group, pair, history)
    feed = Feed("p0", bootstrap, zone="")  # no zone: metadata lists all brokers
    feed.start()
    membership.start()
    try:
        yield GroupSetup(group, pair, membership, history, directory), feed
    finally:
        feed.stopping.set()
        membership.stop()


def _rounds(plan: Plan, setup: GroupSetup) -> Iterator[Recovery]:
    rounds = Rounds(setup, Random(plan.seed))
    try:
        for _ in range(plan.times):
            yield rounds.run()
        rounds.settle()
    finally:
        rounds.close()


def _committed(victims: Sequence[Victim], group: Group) -> list[dict[int, int]]:
    """Return the committed offsets from each broker alone, freshly started."""
    committed = []
    for victim in victims:
        victim.kill()
    for victim in victims:
        victim.start()
        admin = AdminClient({"bootstrap.servers": victim.address, "log_level": 0})
        futures = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group.name)])
        partitions = futures[group.name].result(30).topic_partitions
        committed.append({one.partition: one.offset for one in partitions})
        victim.kill()
    return committed


def _during_outages(history: GroupHistory, recoveries: Sequence[Recovery]) -> int:
    """Count the records read while a broker was down."""
    begins = [one.since for one in recoveries]
    count = 0
    for event in history.events:
        last = bisect_right(begins, event.at) - 1
        count += isinstance(event, Read) and last >= 0 and event.at < recoveries[last].until
    return count
