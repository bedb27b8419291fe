"""Property test of consumer groups: random histories, which Hypothesis shrinks when one fails.

After every event the invariants hold. As long as requests are not reordered, no two clients use the same
partition. In the end, all partitions are assigned.
"""

from dataclasses import replace
from typing import Final

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from dray.groups.commands import ConsumerHeartbeat
from tests.groups.consumer import model
from tests.groups.consumer.model import Subscription, World

CLIENTS: Final = st.integers(0, 3)
SUBSCRIPTIONS: Final = st.sampled_from(model.SUBSCRIPTIONS)
BROKERS: Final = st.sampled_from(model.BROKERS)
TOPICS: Final = st.sampled_from(model.TOPICS)
BOOLEANS: Final = st.booleans()


class Histories(RuleBasedStateMachine):
    """Histories in which requests arrive in the order in which clients sent them."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()

    @initialize(subscription=SUBSCRIPTIONS, count=st.integers(1, 4))
    def join_some(self, subscription: Subscription, count: int) -> None:
        for client in self.world.clients[:count]:
            self.world.join(client, subscription, 1)

    @rule(index=CLIENTS, subscription=SUBSCRIPTIONS, broker=BROKERS, lost=BOOLEANS)
    def join(self, index: int, subscription: Subscription, broker: int, lost: bool) -> None:
        client = self.world.clients[index]
        if not client.is_member:
            self.world.join(client, subscription, broker, lost=lost)

    @rule(heartbeats=st.lists(st.tuples(CLIENTS, *[BOOLEANS] * 4), min_size=4, max_size=12))
    def send_heartbeats(self, heartbeats: list[tuple[int, bool, bool, bool, bool]]) -> None:
        for index, use_assignment, lost, twice, full in heartbeats:
            client = self.world.clients[index]
            if use_assignment:
                client.use_assignment()
            self.world.send(client, client.heartbeat(full=full), lost=lost, twice=twice)
            self.world.check_no_partition_is_used_twice()

    @rule(index=CLIENTS, subscription=SUBSCRIPTIONS, assignor=st.sampled_from(["uniform", "range"]))
    def change_subscription(self, index: int, subscription: Subscription, assignor: str) -> None:
        client = self.world.clients[index]
        client.names, client.regex = subscription
        self.world.send(client, replace(client.heartbeat(full=True), assignor=assignor))

    @rule(index=CLIENTS, temporarily=BOOLEANS, twice=BOOLEANS)
    def leave(self, index: int, temporarily: bool, twice: bool) -> None:
        self.world.leave(self.world.clients[index], temporarily=temporarily, twice=twice)

    @rule(index=CLIENTS, broker=BROKERS)
    def move_to_another_broker(self, index: int, broker: int) -> None:
        self.world.clients[index].broker = broker

    @rule(data=st.data())
    def fire_timer(self, data: st.DataObject) -> None:
        timers = self.world.timers()
        if timers:
            self.world.fire(data.draw(st.sampled_from(timers)))

    @rule(dead=BROKERS)
    def kill_one_broker(self, dead: int) -> None:
        self.world.kill_broker(dead)

    @rule(name=TOPICS, more=st.integers(0, 2))
    def create_or_grow_topic(self, name: str, more: int) -> None:
        self.world.create_or_grow(name, more)

    @rule(name=TOPICS)
    def delete_one_topic(self, name: str) -> None:
        self.world.delete_topic(name)

    @rule(broker=BROKERS)
    def update_one_image(self, broker: int) -> None:
        self.world.update_image(broker)

    @rule(seconds=st.sampled_from([1, 5, 60]))
    def pass_time(self, seconds: int) -> None:
        self.world.now_ms += seconds * 1_000

    @invariant()
    def no_partition_is_used_twice(self) -> None:
        self.world.check_no_partition_is_used_twice()

    def teardown(self) -> None:
        self.world.check_final_state()


class ReorderedHistories(Histories):
    """Histories in which requests also arrive late, or twice with others between; no broker can detect that.

    A late request may then look like the revocation of partitions that were assigned after it was sent. The
    other invariants still hold, and the group settles.
    """

    def __init__(self) -> None:
        super().__init__()
        self.world.check_no_partition_is_used_twice = lambda: None  # type: ignore[method-assign]
        self.under_way: list[ConsumerHeartbeat] = []

    @rule(index=CLIENTS, full=BOOLEANS)
    def delay_heartbeat(self, index: int, full: bool) -> None:
        client = self.world.clients[index]
        if client.is_member:
            self.under_way.append(client.heartbeat(full=full))

    @precondition(lambda self: self.under_way)
    @rule(data=st.data(), stays=BOOLEANS)
    def deliver_late(self, data: st.DataObject, stays: bool) -> None:
        command = data.draw(st.sampled_from(self.under_way))
        if not stays:
            self.under_way.remove(command)
        self.world.apply(command)


_SETTINGS: Final = settings(max_examples=60, stateful_step_count=40)
TestHistories = Histories.TestCase
TestHistories.settings = _SETTINGS
TestUnrulyHistories = ReorderedHistories.TestCase
TestUnrulyHistories.settings = _SETTINGS
