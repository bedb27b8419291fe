"""Sequences of members by load: which member gets the next partition, and which one releases the next.

    load │          ▒▒    `lowering` cuts the highest down to the next, then both, …
         │       ▒▒ ▒▒
         │ ░░ ░░ ██ ██    `filling` lifts the lowest up to the next, then both, …
         │ ░░ ██ ██ ██
         └─────────────▶ members

Each step yields the load of its member before the step, assuming that all earlier steps were taken. The two
sequences do not know each other: a caller that draws from both has to stop when they meet.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

Loads: TypeAlias = Sequence[tuple[int, int]]
"""Sorted pairs of load and member number."""


def filling(loads: Loads) -> Iterator[tuple[int, int]]:
    """Endless: load and number of the member that gets the next partition."""
    level, lifted = loads[0][0], 0
    while True:
        while lifted < len(loads) and loads[lifted][0] == level:
            lifted += 1
        for _, member in loads[:lifted]:
            yield level, member
        level += 1


def lowering(loads: Loads, stocks: Mapping[int, list[int]]) -> Iterator[tuple[int, int, int]]:
    """Until all stocks are empty: load and number of the member that releases a partition, and which one."""
    below = list(loads)
    givers: list[int] = []
    level = below[-1][0]
    while givers or below:
        while below and below[-1][0] == level:
            givers.append(below.pop()[1])
        for giver in _round(givers, stocks):
            yield level, giver, stocks[giver].pop()
        level -= 1


def _round(givers: list[int], stocks: Mapping[int, list[int]]) -> Iterator[int]:
    """Each giver once. One with an empty stock is dropped for good, and the first one takes its place.

    Closing the gap instead would change Kafka's order in later rounds.
    """
    place = 0
    while place < len(givers):
        giver = givers[place]
        if stocks[giver]:
            yield giver
            place += 1
        else:
            givers[place] = givers[0]
            del givers[0]
