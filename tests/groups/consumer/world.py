"""Several clients, several brokers and one group: all that may happen to them, and what must hold.

Each broker has its own view of the topics, which may lag behind, and applies what it is asked to the group
as it is stored. Clients take their time to act on what they are told. Answers get lost, heartbeats are
applied twice, sessions run out, brokers die.
"""

from dataclasses import dataclass, field, replace
from typing import Final

from dray.groups.asks import ConsumerBeat, Partitions
from dray.groups.consumer import ConsumerGroup, Sight, adopt, fire, heartbeat, refresh, state_name, timers
from dray.groups.faults import Fault
from dray.groups.outcome import Timer, TimerKind
from dray.groups.replies import ConsumerBeaten
from tests.groups.consumer import invariants
from tests.groups.consumer.builders import BEAT_MS, LIMITS, Image, a_beat, a_join, image

TOPICS: Final = ("t", "u", "ta")
BROKERS: Final = (1, 2)
SUBSCRIPTIONS: Final = (
    (("t",), ""),
    (("t", "u"), ""),
    (("u", "ta"), ""),
    ((), "t.*"),
    (("u",), "t."),
    ((), ""),
)
_GONE: Final = {Fault.UNKNOWN_MEMBER_ID, Fault.FENCED_MEMBER_EPOCH, Fault.FENCED_INSTANCE_ID}

Subscription = tuple[tuple[str, ...], str]


@dataclass
class Person:
    """A client: what it knows of itself, whatever the group thinks."""

    member_id: str
    instance_id: str | None
    names: tuple[str, ...] = ()
    regex: str = ""
    broker: int = 1
    epoch: int = 0
    uses: Partitions = field(default_factory=dict)
    told: Partitions = field(default_factory=dict)
    """What it is to use from now on; it takes its time."""
    is_in: bool = False
    """Whether it has joined and not been told otherwise."""
    missed_an_answer: bool = False
    was_put_out: bool = False
    """Whether it was told otherwise, and is to join again."""

    def acts(self) -> None:
        self.uses = self.told

    def stops(self) -> None:
        self.uses = self.told = {}
        self.is_in = False

    def partitions(self) -> set[tuple[bytes, int]]:
        return {(topic_id, number) for topic_id, numbers in self.uses.items() for number in numbers}

    def beat(self, *, tells_all: bool) -> ConsumerBeat:
        """Say what it uses.

        As real clients it does so only when it has acted on all it was told: else it might take up what it
        has just been believed not to own. And one that missed an answer says all it can.
        """
        if tells_all or self.missed_an_answer:
            self.acts()
            said = replace(self.quiet_beat(), owned=self.uses, rebalance_timeout_ms=60_000)
            return replace(said, names=self.names, regex=self.regex)
        return replace(self.quiet_beat(), owned=self.uses if self.uses == self.told else None)

    def quiet_beat(self, epoch: int | None = None) -> ConsumerBeat:
        return a_beat(
            self.member_id,
            self.epoch if epoch is None else epoch,
            instance_id=self.instance_id,
            broker=self.broker,
        )


class World:
    """Whatever is done here leaves the group sound, or fails."""

    def __init__(self) -> None:
        self.now_ms = 1_000_000
        self.topics = image(t=3, u=2)
        self.made = 0
        """Counts topics and processes, none of which is the same as one before."""
        self.views: dict[int, Image] = dict.fromkeys(BROKERS, self.topics)
        self.sights: dict[int, Sight | None] = dict.fromkeys(BROKERS)
        self.group: ConsumerGroup | None = None
        self.people = [Person("a", None), Person("b", None), Person("c", "i"), Person("d", "j")]

    @property
    def known(self) -> ConsumerGroup:
        assert self.group is not None
        return self.group

    # What clients do.

    def joins(self, person: Person, subscription: Subscription, broker: int, *, lost: bool = False) -> None:
        person.names, person.regex = subscription
        person.broker = broker
        person.stops()
        ask = a_join(
            person.member_id, *person.names, regex=person.regex, instance_id=person.instance_id, broker=broker
        )
        self.hears(person, self.apply(ask, twice=lost), lost=lost)

    def says(self, person: Person, ask: ConsumerBeat, *, lost: bool = False, twice: bool = False) -> None:
        if person.is_in:
            self.hears(person, self.apply(ask, twice=twice), lost=lost or twice)

    def leaves(self, person: Person, *, for_now: bool, twice: bool) -> None:
        if not person.is_in:
            return
        ask = person.quiet_beat(-2 if for_now and person.instance_id is not None else -1)
        person.stops()
        self.apply(ask, twice=twice)
        if person.instance_id is not None:
            self.made += 1
            person.member_id = f"{person.instance_id}-{self.made}"

    def hears(self, person: Person, reply: ConsumerBeaten, *, lost: bool) -> None:
        person.missed_an_answer = lost
        if lost:
            return
        if reply.fault in _GONE:
            person.stops()
            person.was_put_out = True
            return
        assert reply.fault is Fault.NONE, reply
        person.is_in, person.was_put_out, person.epoch = True, False, reply.epoch
        if reply.assignment is not None:
            person.told = reply.assignment

    # What brokers do.

    def apply(self, ask: ConsumerBeat, *, twice: bool = False) -> ConsumerBeaten:
        """Apply what is asked, or apply it twice; whether the second is refused is nobody's business then."""
        reply = self._applied(ask)
        if twice:
            self._applied(ask)
        return reply

    def _applied(self, ask: ConsumerBeat) -> ConsumerBeaten:
        view = self.views[ask.broker]
        if self.group is not None:
            fresh, sight = refresh(self.group, view, LIMITS, self.now_ms, self.sights[ask.broker])
            self.sights[ask.broker] = sight
            self.store(fresh)
        outcome = heartbeat(self.group, ask, view, LIMITS, self.now_ms)
        if outcome.reply.fault is not Fault.NONE:
            assert outcome.group is self.group
        elif outcome.group is not None:
            self.store(outcome.group)
        return outcome.reply

    def store(self, group: ConsumerGroup) -> None:
        if self.group is not None:
            invariants.check_growth(self.group, group)
            assert (group == self.group) == (group is self.group)
        self.group = group
        invariants.check(group)

    # What happens.

    def asked_timers(self) -> list[Timer]:
        return (
            [] if self.group is None else sorted((one.timer for one in timers(self.group, LIMITS)), key=str)
        )

    def runs_out(self, timer: Timer) -> None:
        self.store(fire(self.known, timer, LIMITS, self.now_ms))

    def dies(self, dead: int) -> None:
        if self.group is None:
            return
        alive = set(BROKERS) - {dead}
        (heir,) = alive
        self.store(adopt(self.group, alive, heir))
        self.sights[dead] = None
        for person in self.people:
            person.broker = heir

    def makes_or_grows(self, name: str, more: int) -> None:
        known = self.topics.find(name)
        if known is None:
            self.made += 1
            self.topics = self.topics.with_topic(name, 1 + more, self.made)
        elif more:
            seen = replace(known, partitions=known.partitions + more)
            self.topics = Image(self.topics.version + 1, {**self.topics.seen, name: seen})

    def deletes(self, name: str) -> None:
        if self.topics.find(name) is not None:
            self.topics = self.topics.without_topic(name)

    def catches_up(self, broker: int) -> None:
        self.views[broker] = self.topics

    # What must hold.

    def check_nothing_is_used_twice(self) -> None:
        """Of the clients that the group counts on: one that it has put out may not know yet."""
        used = [
            partition
            for person in self.people
            if self._counts_on(person)
            for partition in person.partitions()
        ]
        assert len(used) == len(set(used))

    def check_rest(self) -> None:
        """When nothing happens any more, all is shared out, and then all is quiet."""
        if self.group is None:
            return
        self.views = dict.fromkeys(BROKERS, self.topics)
        self._put_out_who_is_away()
        for _ in range(2 * len(self.people) + 6):
            self.now_ms += BEAT_MS
            for person in self.people:
                self._goes_on(person)
        self._check_shared()
        self._check_quiet()

    def _counts_on(self, person: Person) -> bool:
        member = None if self.group is None else self.group.members.get(person.member_id)
        return member is not None and person.is_in and not member.away

    def _put_out_who_is_away(self) -> None:
        there = {person.member_id for person in self.people if person.is_in}
        for timer in self.asked_timers():
            if timer.kind is TimerKind.SESSION and timer.member_id not in there:
                self.runs_out(timer)

    def _goes_on(self, person: Person) -> None:
        if person.is_in:
            self.says(person, person.beat(tells_all=True))
            person.acts()
        elif person.was_put_out:
            self.joins(person, (person.names, person.regex), person.broker)

    def _check_shared(self) -> None:
        living = [person for person in self.people if person.is_in]
        assert self.known.members.keys() == {person.member_id for person in living}
        assert state_name(self.known) == ("Stable" if living else "Empty")
        for name, topic in self.known.topics.items():
            seen = self.topics.find(name)
            assert seen is not None
            assert (seen.topic_id, seen.partitions) == topic
        topics = self.known.topics.values()
        wanted = {(topic.topic_id, number) for topic in topics for number in range(topic.partitions)}
        assert sorted(wanted) == sorted(partition for person in living for partition in person.partitions())
        assert wanted == set(invariants.held(self.known))

    def _check_quiet(self) -> None:
        group = self.known
        for person in self.people:
            self.says(person, person.beat(tells_all=False))
            self.says(person, person.quiet_beat())
        assert self.known is group
