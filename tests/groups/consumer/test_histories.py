"""Histories of a group, chosen at random and made short by Hypothesis when one fails.

After every step the group must be sound. As long as requests do not overtake each other, no two clients use
the same partition. In the end, when nothing happens any more, the members have shared out all there is.
"""

from dataclasses import replace
from typing import Final

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from dray.groups.asks import ConsumerBeat
from tests.groups.consumer import world
from tests.groups.consumer.world import Subscription, World

WHO: Final = st.integers(0, 3)
SUBSCRIPTIONS: Final = st.sampled_from(world.SUBSCRIPTIONS)
BROKERS: Final = st.sampled_from(world.BROKERS)
TOPICS: Final = st.sampled_from(world.TOPICS)
YES_OR_NO: Final = st.booleans()


class Histories(RuleBasedStateMachine):
    """What may happen while requests arrive in the order in which clients sent them."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()

    @initialize(subscription=SUBSCRIPTIONS, count=st.integers(1, 4))
    def some_join(self, subscription: Subscription, count: int) -> None:
        for person in self.world.people[:count]:
            self.world.joins(person, subscription, 1)

    @rule(who=WHO, subscription=SUBSCRIPTIONS, broker=BROKERS, lost=YES_OR_NO)
    def joins(self, who: int, subscription: Subscription, broker: int, lost: bool) -> None:
        person = self.world.people[who]
        if not person.is_in:
            self.world.joins(person, subscription, broker, lost=lost)

    @rule(beats=st.lists(st.tuples(WHO, *[YES_OR_NO] * 4), min_size=4, max_size=12))
    def some_beat(self, beats: list[tuple[int, bool, bool, bool, bool]]) -> None:
        for who, acts, lost, twice, tells_all in beats:
            person = self.world.people[who]
            if acts:
                person.acts()
            self.world.says(person, person.beat(tells_all=tells_all), lost=lost, twice=twice)
            self.world.check_nothing_is_used_twice()

    @rule(who=WHO, subscription=SUBSCRIPTIONS, assignor=st.sampled_from(["uniform", "range"]))
    def subscribes_otherwise(self, who: int, subscription: Subscription, assignor: str) -> None:
        person = self.world.people[who]
        person.names, person.regex = subscription
        self.world.says(person, replace(person.beat(tells_all=True), assignor=assignor))

    @rule(who=WHO, for_now=YES_OR_NO, twice=YES_OR_NO)
    def leaves(self, who: int, for_now: bool, twice: bool) -> None:
        self.world.leaves(self.world.people[who], for_now=for_now, twice=twice)

    @rule(who=WHO, broker=BROKERS)
    def moves_to_another_broker(self, who: int, broker: int) -> None:
        self.world.people[who].broker = broker

    @rule(data=st.data())
    def a_timer_runs_out(self, data: st.DataObject) -> None:
        asked = self.world.asked_timers()
        if asked:
            self.world.runs_out(data.draw(st.sampled_from(asked)))

    @rule(dead=BROKERS)
    def a_broker_dies(self, dead: int) -> None:
        self.world.dies(dead)

    @rule(name=TOPICS, more=st.integers(0, 2))
    def a_topic_is_made_or_grows(self, name: str, more: int) -> None:
        self.world.makes_or_grows(name, more)

    @rule(name=TOPICS)
    def a_topic_is_deleted(self, name: str) -> None:
        self.world.deletes(name)

    @rule(broker=BROKERS)
    def a_view_catches_up(self, broker: int) -> None:
        self.world.catches_up(broker)

    @rule(seconds=st.sampled_from([1, 5, 60]))
    def time_passes(self, seconds: int) -> None:
        self.world.now_ms += seconds * 1_000

    @invariant()
    def nobody_uses_what_another_uses(self) -> None:
        self.world.check_nothing_is_used_twice()

    def teardown(self) -> None:
        self.world.check_rest()


class UnrulyHistories(Histories):
    """Requests may also arrive late, or twice with others between, which no broker can tell.

    Then a client may be believed to have given up what it did not yet have when it sent the request. But the
    group stays sound, and comes to rest.
    """

    def __init__(self) -> None:
        super().__init__()
        self.world.check_nothing_is_used_twice = lambda: None  # type: ignore[method-assign]
        self.under_way: list[ConsumerBeat] = []

    @rule(who=WHO, tells_all=YES_OR_NO)
    def sends_what_arrives_later(self, who: int, tells_all: bool) -> None:
        person = self.world.people[who]
        if person.is_in:
            self.under_way.append(person.beat(tells_all=tells_all))

    @precondition(lambda self: self.under_way)
    @rule(data=st.data(), stays=YES_OR_NO)
    def arrives_late(self, data: st.DataObject, stays: bool) -> None:
        ask = data.draw(st.sampled_from(self.under_way))
        if not stays:
            self.under_way.remove(ask)
        self.world.apply(ask)


_SETTINGS: Final = settings(max_examples=60, stateful_step_count=40)
TestHistories = Histories.TestCase
TestHistories.settings = _SETTINGS
TestUnrulyHistories = UnrulyHistories.TestCase
TestUnrulyHistories.settings = _SETTINGS
