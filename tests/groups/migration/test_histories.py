"""Seeded histories in which clients of both protocols join and leave, and the group migrates back and forth.

No two clients ever use the same partition, and once no client joins or leaves any more, all partitions are
used.
"""

from random import Random

import pytest

from dray.groups.classic import ClassicGroup
from dray.groups.consumer import ConsumerGroup
from dray.groups.stored import decode_group, encode_group
from dray.groups.timers import TimerKind
from tests.groups.consumer import invariants
from tests.groups.consumer.builders import image
from tests.groups.migration.builders import LIMITS, GroupHarness
from tests.groups.migration.clients import ClassicClient, Client, ConsumerClient

STEPS = 220
SEEDS = range(14)


class World:
    """A group, three clients of each protocol, and the types the group has had."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.harness = GroupHarness(image(t=4, u=2), LIMITS)
        cooperative = bool(seed % 2)
        self.clients: list[Client] = [ConsumerClient(self.harness, f"new{number}") for number in range(3)]
        self.clients += [
            ClassicClient(self.harness, f"old{number}", is_cooperative=cooperative) for number in range(3)
        ]
        self.kinds: list[type] = []

    def step(self) -> None:
        random, client = self.random, self.random.choice(self.clients)
        roll = random.random()
        if roll < 0.05:
            client.subscribe(random.choice([("t",), ("t", "u")]))
            client.is_running = True
        elif roll < 0.09 and client.is_running:
            client.stop()
        elif roll < 0.12:
            self.fire_a_timer()
        elif client.is_running:
            client.step(lost=random.random() < 0.1)
        self.harness.now_ms += 500

    def fire_a_timer(self) -> None:
        if self.harness.group is not None and (timers := sorted(self.harness.timers(), key=str)):
            self.harness.fire(self.random.choice(timers))
            for client in self.clients:
                client.was_removed_unnoticed |= client.member_id not in self.harness.group.members

    def check(self) -> None:
        group = self.harness.group
        if group is None:
            return
        assert decode_group(encode_group(group)) == group
        if isinstance(group, ConsumerGroup):
            invariants.check(group)
        if not self.kinds or self.kinds[-1] is not type(group):
            self.kinds.append(type(group))
        known = [
            client
            for client in self.clients
            if client.member_id in group.members and not client.was_removed_unnoticed
        ]
        used = [partition for client in known for partition in client.uses]
        assert len(used) == len(set(used))

    def check_final_state(self) -> None:
        """Run all clients until nothing changes any more; then all partitions must be used."""
        self._expire_absent_members()
        for _ in range(60):
            for client in self.clients:
                if client.is_running:
                    client.step()
            self._end_initial_delay()
            self.check()
            self.harness.now_ms += 3_000
        running = [client for client in self.clients if client.is_running]
        wanted = {topic for client in running for topic in client.topics}
        partitions = {
            (topic, number)
            for topic in wanted
            for number in range(self.harness.topics.seen[topic].partitions)
        }
        assert sorted(partition for client in running for partition in client.uses) == sorted(partitions)

    def _expire_absent_members(self) -> None:
        """Expire members and assigned ids whose clients no longer run."""
        if self.harness.group is None:
            return
        known = {client.member_id for client in self.clients if client.is_running}
        of_members = {TimerKind.SESSION, TimerKind.NEW_MEMBER, TimerKind.PENDING_MEMBER}
        for timer in self.harness.timers():
            if timer.kind in of_members and timer.member_id not in known:
                self.harness.fire(timer)

    def _end_initial_delay(self) -> None:
        if isinstance(self.harness.group, ClassicGroup):
            timer = self.harness.timer(TimerKind.INITIAL_DELAY, "")
            if timer is not None:
                self.harness.fire(timer)


def _history(seed: int) -> World:
    world = World(seed)
    for _ in range(STEPS):
        world.step()
        world.check()
    return world


@pytest.mark.parametrize("seed", SEEDS)
def test_groups_settle_whatever_protocol_they_end_in(seed: int) -> None:
    _history(seed).check_final_state()


def test_histories_contain_migrations_in_both_directions() -> None:
    """Makes sure that the histories test migrations: most groups had both types, several times."""
    changes = [len(_history(seed).kinds) for seed in SEEDS]
    assert sum(changes) > 2 * len(SEEDS)
