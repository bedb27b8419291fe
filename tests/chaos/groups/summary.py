"""Summary of the rounds: recovery times, and the rounds that exceeded the bound."""

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median

from tests.chaos.groups.rounds import RECOVERY_BOUND_S, Recovery


def late(recoveries: Sequence[Recovery]) -> Iterator[str]:
    """Yield the rounds that exceeded the bound, with the load: the bound assumes an idle machine."""
    for number, one in enumerate(recoveries, 1):
        if one.stable_s > RECOVERY_BOUND_S:
            yield f"late: round {number} took longer than {RECOVERY_BOUND_S} s: {one}"


def summary(recoveries: Sequence[Recovery], client_errors: Counter[str]) -> str:
    stable, committing = ([getattr(one, what) for one in recoveries] for what in ("stable_s", "committing_s"))
    errors = ", ".join(f"{count} {name}" for name, count in client_errors.most_common()) or "none"
    return f"stable after {_spread(stable)}; committing after {_spread(committing)}; client errors: {errors}"


def _spread(seconds: Sequence[float]) -> str:
    ordered = sorted(seconds)
    p90 = ordered[(len(ordered) * 9 - 1) // 10]
    return f"{median(ordered):.1f} s, p90 {p90:.1f} s, max {ordered[-1]:.1f} s"
