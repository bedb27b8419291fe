"""Growth of a rebalance and of a heartbeat without news, in function calls.

Calls do not depend on the machine or on what else runs on it, as seconds do.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from dray.groups.consumer import heartbeat, refresh, state_name
from tests.groups.consumer.builders import LIMITS, Consumer, GroupHarness, Image, a_heartbeat, image


class _Calls:
    def __init__(self) -> None:
        self.count = 0

    def profile(self, _frame: FrameType, event: str, _arg: object) -> None:
        self.count += event in {"call", "c_call"}


@contextmanager
def counted_calls() -> Iterator[_Calls]:
    """Count the calls of Python and C functions until the block ends."""
    calls = _Calls()
    before = sys.getprofile()
    sys.setprofile(calls.profile)
    try:
        yield calls
    finally:
        sys.setprofile(before)


def _topics(count: int, partitions: int) -> Image:
    return image(**{f"topic{number}": partitions for number in range(count)})


def rebalance(members: int) -> GroupHarness:
    """Join members one after the other, each with a new target, until all are stable."""
    harness = GroupHarness(_topics(10, partitions=100))
    clients = [Consumer(harness, f"member{number}") for number in range(members)]
    for client in clients:
        client.join(*harness.topics.seen)
    while state_name(harness.known) != "Stable":
        for client in clients:
            client.heartbeat()
    return harness


def _calls_of_rebalance(members: int) -> int:
    with counted_calls() as calls:
        harness = rebalance(members)
    shares = [sum(map(len, member.assigned.values())) for member in harness.known.members.values()]
    assert shares == [1000 // members] * members
    return calls.count


def test_rebalance_of_four_times_the_members_takes_at_most_eight_times_the_calls() -> None:
    assert _calls_of_rebalance(100) < 8 * _calls_of_rebalance(25)


def _calls_of_heartbeat(members: int) -> int:
    harness = rebalance(members)
    harness.refresh()
    group, command = harness.known, a_heartbeat("member7", harness.known.target_epoch)
    with counted_calls() as calls:
        refresh(group, harness.topics, LIMITS, harness.now_ms, harness.last_refresh)
        heartbeat(group, command, harness.topics, LIMITS, harness.now_ms)
    return calls.count


def test_heartbeat_without_news_takes_as_many_calls_in_a_group_of_ten_as_of_a_hundred() -> None:
    assert _calls_of_heartbeat(10) == _calls_of_heartbeat(100) < 100
