"""Limits that contradict each other are refused, with both of them named."""

import pytest

from dray.groups.limits import GroupLimits


@pytest.mark.parametrize(
    ("given", "least", "most"),
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
def test_limits_at_odds(given: dict[str, int], least: str, most: str) -> None:
    usual = GroupLimits()
    low, high = (given.get(name, getattr(usual, name)) for name in (least, most))
    with pytest.raises(
        ValueError, match=f"^{least} is {low}, and must not be more than {most}, which is {high}$"
    ):
        GroupLimits(**given)  # type: ignore[arg-type]


def test_a_session_outlasts_the_interval_of_calls() -> None:
    told = "^consumer_session_timeout_ms is 5000, and must be more than consumer_heartbeat_interval_ms"
    with pytest.raises(ValueError, match=told):
        GroupLimits(consumer_min_session_timeout_ms=1, consumer_session_timeout_ms=5_000)
    longer = GroupLimits(consumer_min_session_timeout_ms=5_001, consumer_session_timeout_ms=5_001)
    assert longer.consumer_session_timeout_ms == 5_001
