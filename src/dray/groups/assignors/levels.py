"""Two sequences of turns over members sorted by load: who takes the next partition, who gives one away.

    load │          ▒▒    `lowering` cuts the highest down to the next, then both, …
         │       ▒▒ ▒▒
         │ ░░ ░░ ██ ██    `filling` lifts the lowest up to the next, then both, …
         │ ░░ ██ ██ ██
         └─────────────▶ members

Each turn tells the load of its member before it, supposing that all turns before were acted upon. The two
know nothing of each other: whoever draws from both has to stop when they meet.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

Loads: TypeAlias = Sequence[tuple[int, int]]
"""Load and number of each member, sorted."""


def filling(loads: Loads) -> Iterator[tuple[int, int]]:
    """For ever: the load of who is to take a partition next, and who it is."""
    level, lifted = loads[0][0], 0
    while True:
        while lifted < len(loads) and loads[lifted][0] == level:
            lifted += 1
        for _, member in loads[:lifted]:
            yield level, member
        level += 1


def lowering(loads: Loads, stocks: Mapping[int, list[int]]) -> Iterator[tuple[int, int, int]]:
    """Until all stocks are used up: the load of who is to give next, who it is, and which partition."""
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
    """Each giver once. Who has nothing to give is left out for good, and the first takes its place in line.

    Closing the gap would do as well, but then Kafka's order in the rounds to come would be another.
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
