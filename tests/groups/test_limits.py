"""Contradictory limits, which are rejected with a message that names both."""

import pytest

from dray.groups.limits import GroupLimits


@pytest.mark.parametrize(
    ("given", "lower", "upper"),
    [
        ({"min_session_timeout_ms": 9**8}, "min_session_timeout_ms", "max_session_timeout_ms"),
        (
            {"consumer_session_timeout_ms": 10_000},
            "consumer_min_session_timeout_ms",
            "consumer_session_timeout_ms",
        ),
        (
            {"consumer_session_timeout_ms": 70_000},
            "consumer_session_timeout_ms",
            "consumer_max_session_timeout_ms",
        ),
        (
            {"consumer_min_heartbeat_interval_ms": 20_000},
            "consumer_min_heartbeat_interval_ms",
            "consumer_max_heartbeat_interval_ms",
        ),
        (
            {"consumer_assignment_interval_ms": 15_001},
            "consumer_assignment_interval_ms",
            "consumer_max_assignment_interval_ms",
        ),
    ],
)
def test_contradicting_limits_are_rejected(given: dict[str, int], lower: str, upper: str) -> None:
    default = GroupLimits()
    low, high = (given.get(name, getattr(default, name)) for name in (lower, upper))
    with pytest.raises(
        ValueError, match=f"^{lower} is {low}, and must not be more than {upper}, which is {high}$"
    ):
        GroupLimits(**given)  # type: ignore[arg-type]


def test_session_timeout_must_exceed_the_heartbeat_interval() -> None:
    message = "^consumer_session_timeout_ms is 5000, and must be more than consumer_heartbeat_interval_ms"
    with pytest.raises(ValueError, match=message):
        GroupLimits(consumer_min_session_timeout_ms=1, consumer_session_timeout_ms=5_000)
    longer = GroupLimits(consumer_min_session_timeout_ms=5_001, consumer_session_timeout_ms=5_001)
    assert longer.consumer_session_timeout_ms == 5_001
