"""Fault-injection experiment on brokers: producers and a consumer run while brokers fail repeatedly.

Afterwards all brokers are killed once more, and the topic is read through each of them alone: no record may
come from a survivor's memory, and all brokers must return the same.
"""

import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Self

from tests.chaos.faults import Fault, Outage
from tests.chaos.histories import ProducerHistory, Records
from tests.chaos.producers import SteadyProducer, make_topic
from tests.chaos.readers import ReadError, TailingConsumer, read_everything
from tests.chaos.rules import violations
from tests.chaos.victims import Victim, running_victims

_PRODUCERS = 4
_PROGRESS_EVERY = 10


@dataclass(frozen=True, slots=True)
class Plan:
    """The faults to inject, and the brokers to inject them into."""

    fault: Fault
    times: int
    brokers: int
    options: Sequence[str] = ()
    """More options of `dray up`."""
    seed: int = 1
    program: Sequence[str] = ("tests.chaos.failpoints",)
    """The module to run in place of `dray`."""


@dataclass(frozen=True, slots=True)
class Figures:
    """The outcome of one part of a soak."""

    faults: Counter[str] = field(default_factory=Counter)
    """Faults by cause."""
    acknowledged: int = 0
    during_outages: int = 0
    """Those of them acknowledged while a broker was down or paused."""
    consumed: int = 0
    """Records read while faults were injected."""
    violations: tuple[str, ...] = ()

    @classmethod
    def aborted(cls, error: Exception) -> Self:
        return cls(violations=(f"aborted: {error!r}",))


def run(plan: Plan, directory: Path, report: Callable[[str], None]) -> Figures:
    """Run the experiment, with all local files in `directory`."""
    with running_victims(plan.brokers, directory, plan.options, plan.program) as victims:
        bootstrap = ",".join(victim.address for victim in victims)
        make_topic(bootstrap)
        consumer, producers = TailingConsumer(bootstrap), _producers(victims, bootstrap)
        for thread in (consumer, *producers):
            thread.start()
        try:
            outages = _inject_faults(plan, victims, report)
        finally:  # also when a broker fails to restart
            for producer in producers:
                producer.stopping.set()
            consumer.stopping.set()
        histories = [producer.finish() for producer in producers]
        seen = consumer.finish()
        found = [*consumer.errors, *_check_restarted(victims, histories, seen)]
    return Figures(
        faults=Counter(outage.cause for outage in outages),
        acknowledged=sum(len(history.acknowledged) for history in histories),
        during_outages=_during_outages(histories, outages),
        consumed=sum(len(records) for records in seen.values()),
        violations=tuple(found),
    )


def _producers(victims: Sequence[Victim], bootstrap: str) -> list[SteadyProducer]:
    zones = [victims[number % len(victims)].zone for number in range(_PRODUCERS)]
    return [SteadyProducer(f"p{number}", bootstrap, zone=zone) for number, zone in enumerate(zones)]


def _inject_faults(plan: Plan, victims: Sequence[Victim], report: Callable[[str], None]) -> list[Outage]:
    random = Random(plan.seed)
    outages = []
    for done in range(1, plan.times + 1):
        time.sleep(random.uniform(0.1, 0.8))  # a random moment, not a wait for something
        outages.append(plan.fault(victims, random))
        if done % _PROGRESS_EVERY == 0 or done == plan.times:
            report(f"{done} of {plan.times}")
    return outages


def _check_restarted(
    victims: Sequence[Victim], histories: Sequence[ProducerHistory], seen: Records
) -> list[str]:
    """Restart one broker after the other, alone, and check what is read from it."""
    found: dict[str, None] = {}
    for victim in victims:
        victim.kill()
    for victim in victims:
        victim.start()
        try:
            stored = read_everything(victim.address)
        except ReadError as error:
            found[f"acked: {error}"] = None
        else:
            found |= dict.fromkeys(violations(histories, stored, seen))
        victim.kill()
    return list(found)


def _during_outages(histories: Sequence[ProducerHistory], outages: Sequence[Outage]) -> int:
    begins = [outage.since for outage in outages]
    count = 0
    for history in histories:
        for ack in history.acknowledged.values():
            last = bisect_right(begins, ack.at) - 1
            count += last >= 0 and ack.at < outages[last].until
    return count
