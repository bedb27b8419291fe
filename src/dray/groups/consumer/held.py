"""Sums with partitions that are held, each with the epoch it was given out in."""

from collections.abc import Container, Mapping

from dray.groups.asks import Partitions
from dray.groups.consumer.state import Held


def merged(one: Held, other: Held) -> Held:
    """All of both; where both have a partition, the second one's epoch."""
    return one | {topic_id: one.get(topic_id, {}) | numbers for topic_id, numbers in other.items()}


def parted(held: Held, target: Mapping[bytes, Container[int]]) -> tuple[Held, Held]:
    """What of it is in the target, and what is not."""
    inside: Held = {}
    outside: Held = {}
    for topic_id, numbers in held.items():
        wanted = target.get(topic_id, ())
        inside[topic_id] = {number: epoch for number, epoch in numbers.items() if number in wanted}
        outside[topic_id] = {number: epoch for number, epoch in numbers.items() if number not in wanted}
    return filled(inside), filled(outside)


def filled(held: Held) -> Held:
    """Without topics of which nothing is held."""
    return {topic_id: numbers for topic_id, numbers in held.items() if numbers}


def partitions_in(held: Held) -> Partitions:
    """As members are told of them: in order, and without epochs."""
    return {topic_id: tuple(sorted(numbers)) for topic_id, numbers in held.items()}
