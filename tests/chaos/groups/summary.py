"""What came of the rounds: which of them took too long, and how long they took together."""

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median

from tests.chaos.groups.rounds import BOUND_S, Recovery


def late(recoveries: Sequence[Recovery]) -> Iterator[str]:
    """What took longer than it may on a machine that has nothing else to do; the load is told with it."""
    for number, one in enumerate(recoveries, 1):
        if one.stable_s > BOUND_S:
            yield f"in time: round {number} took longer than {BOUND_S} s: {one}"


def summary(recoveries: Sequence[Recovery], complaints: Counter[str]) -> str:
    stable, flowing = ([getattr(one, what) for one in recoveries] for what in ("stable_s", "flowing_s"))
    told = ", ".join(f"{count} {name}" for name, count in complaints.most_common()) or "nothing"
    return f"stable after {_spread(stable)}; flowing after {_spread(flowing)}; members were told {told}"


def _spread(seconds: Sequence[float]) -> str:
    ordered = sorted(seconds)
    nine_in_ten = ordered[(len(ordered) * 9 - 1) // 10]
    return f"{median(ordered):.1f} s, nine in ten {nine_in_ten:.1f} s, at most {ordered[-1]:.1f} s"
