"""Sizes and durations as text: `8MiB`, `10m`, or a bare number in the unit of the key.

The unit of a setting is part of its key (`linger_ms`, `buffer_bytes_max`), so packages declare plain
integers. `written` returns the canonical form, which `read` maps back to the same number.
"""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Final, Literal

Unit = Literal["bytes", "ms"]

_SIZES: Final[Mapping[str, int]] = {
    "TiB": 1 << 40,
    "GiB": 1 << 30,
    "MiB": 1 << 20,
    "KiB": 1 << 10,
    "TB": 10**12,
    "GB": 10**9,
    "MB": 10**6,
    "kB": 10**3,
    "B": 1,
}
_DURATIONS: Final[Mapping[str, int]] = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1}
_FACTORS: Final[Mapping[Unit, Mapping[str, int]]] = {"bytes": _SIZES, "ms": _DURATIONS}
_QUANTITY: Final = re.compile(r"(-?[0-9][0-9_]{0,29}(?:\.[0-9]{1,9})?) ?([A-Za-z]{0,3})")


def unit_of(key: str) -> Unit | None:
    """Return the unit that is part of a key's name, if any."""
    words = key.split("_")
    if "bytes" in words:
        return "bytes"
    return "ms" if "ms" in words else None


def read(text: str, unit: Unit) -> int:
    """Return the whole number of `unit` that `text` denotes; raises `ValueError` if it is none."""
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(text)
    number, suffix = match.groups()
    value = Decimal(number) * _factor(suffix, unit)
    if value != value.to_integral_value():
        raise ValueError(text)
    return int(value)


def written(value: int, unit: Unit) -> str:
    """Return the shortest exact form, sizes in binary units: `8MiB`, `1500ms`."""
    for suffix, factor in _FACTORS[unit].items():
        exact = value != 0 and value % factor == 0
        if exact and (unit == "ms" or suffix in {"B", "KiB", "MiB", "GiB", "TiB"}):
            return f"{value // factor}{suffix}"
    return str(value)


def _factor(suffix: str, unit: Unit) -> int:
    if not suffix:
        return 1
    for name, factor in _FACTORS[unit].items():
        if name.lower() == suffix.lower():
            return factor
    raise ValueError(suffix)
