"""What the machine costs: a whole rebalance, and the heartbeat of a member that has nothing to say."""

import time

from dray.groups.consumer import heartbeat, refresh, state_name
from tests.groups.consumer.builders import LIMITS, Consumer, Desk, Image, a_beat, image

QUIET = 500


def _topics(count: int, partitions: int) -> Image:
    return image(**{f"topic{number}": partitions for number in range(count)})


def rebalance(members: int, topics: int, partitions: int) -> tuple[Desk, float]:
    """Members join one after the other, each with a new target, until all have a share; CPU seconds."""
    desk = Desk(_topics(topics, partitions))
    people = [Consumer(desk, f"member{number}") for number in range(members)]
    started = time.process_time()
    for person in people:
        person.join(*desk.topics.seen)
    while state_name(desk.known) != "Stable":
        for person in people:
            person.beat()
    return desk, time.process_time() - started


def test_a_hundred_members_share_a_thousand_partitions() -> None:
    desk, seconds = rebalance(members=100, topics=10, partitions=100)
    shares = [sum(map(len, member.assigned.values())) for member in desk.known.members.values()]
    assert shares == [10] * 100
    assert seconds < 1


def test_a_quiet_heartbeat_does_not_look_at_the_group() -> None:
    desk, _ = rebalance(members=100, topics=10, partitions=100)
    desk.look()
    group, ask = desk.known, a_beat("member7", desk.known.target_epoch)
    started = time.process_time()
    for _ in range(QUIET):
        refresh(group, desk.topics, LIMITS, desk.now_ms, desk.sight)
        heartbeat(group, ask, desk.topics, LIMITS, desk.now_ms)
    assert (time.process_time() - started) / QUIET < 50e-6
