"""Sizes and durations."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.settings.quantities import Unit, read, unit_of, written


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("5", "ms", 5),
        ("5ms", "ms", 5),
        ("1.5s", "ms", 1500),
        ("10m", "ms", 600_000),
        ("2 h", "ms", 7_200_000),
        ("7d", "ms", 604_800_000),
        ("8MiB", "bytes", 8 << 20),
        ("8mib", "bytes", 8 << 20),
        ("8 MB", "bytes", 8_000_000),
        ("8_388_608", "bytes", 8 << 20),
        ("1.5GiB", "bytes", 3 << 29),
        ("-1", "ms", -1),
    ],
)
def test_quantity_is_read_with_its_unit(text: str, unit: Unit, value: int) -> None:
    assert read(text, unit) == value


@pytest.mark.parametrize(
    "text", ["", "ms", "5 parsecs", "5MiB", "1.5", "0.5ms", "1e3", "٣", "5\n", "9" * 5000]
)
def test_read_refuses_invalid_durations(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        read(text, "ms")


@given(st.integers(-(2**70), 2**70), st.sampled_from(["ms", "bytes"]))
def test_written_quantity_round_trips(value: int, unit: Unit) -> None:
    assert read(written(value, unit), unit) == value


def test_written_uses_the_largest_exact_unit() -> None:
    assert [written(v, "bytes") for v in (0, 8 << 20, (8 << 20) + 1)] == ["0", "8MiB", "8388609B"]
    assert [written(v, "ms") for v in (5, 600_000, 86_400_000)] == ["5ms", "10m", "1d"]


def test_unit_comes_from_the_key() -> None:
    units = [unit_of(key) for key in ("linger_ms", "buffer_bytes_max", "domains", "items", "kilobytes")]
    assert units == ["ms", "bytes", None, None, None]
