"""Output of `dray sql`, as text and as JSON.

*Text*: aligned columns. Bytes print as text if they are UTF-8, else as `\\x…`; control characters are
escaped, and long values are truncated. A query plan takes many lines.

*JSON*: one object per line, never truncated. Bytes are text if they are UTF-8, else `{"base64": "…"}`; times
are ISO 8601; numbers that JSON lacks are "NaN", "Infinity" and "-Infinity".
"""

import base64
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from math import isfinite, isnan
from typing import Final

import msgspec

from dray.cli.render.formats import table

CELL_MAX: Final = 120
NULL: Final = "NULL"
_EXPLAINED: Final = ("explain_key", "explain_value")
_ESCAPED: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_encoder: Final = msgspec.json.Encoder(decimal_format="number")
_Row = Sequence[object]


def text_lines(columns: Sequence[str], pages: Iterable[Sequence[_Row]]) -> Iterator[str]:
    """Yield lines with aligned columns, page by page; each page has its own widths."""
    if tuple(columns) == _EXPLAINED:
        plans = (str(plan).rstrip("\n") for rows in pages for _, plan in rows)
        yield from (_escaped(line) for plan in plans for line in plan.split("\n"))
        return
    heads = [_escaped(name) for name in columns]
    shown = False
    for rows in pages:
        cells = [[_cell(value) for value in row] for row in rows]
        lines = table(heads, cells, nothing=NULL, width_max=CELL_MAX)
        yield from lines[1:] if shown else lines
        shown = True
    if not shown:
        yield from table(heads, [])


def json_lines(columns: Sequence[str], pages: Iterable[Sequence[_Row]]) -> Iterator[str]:
    """Yield one object per row."""
    names = distinct(columns)
    for rows in pages:
        for row in rows:
            shown = dict(zip(names, map(json_value, row), strict=True))
            yield _encoder.encode(shown).decode()


def distinct(columns: Sequence[str]) -> list[str]:
    """Return distinct names, as an object needs them: a second `a` becomes `a_1`."""
    names: list[str] = []
    for column in columns:
        name, number = column, 0
        while name in names:
            number += 1
            name = f"{column}_{number}"
        names.append(name)
    return names


def json_value(value: object) -> object:
    return _plain(value, lambda data: {"base64": base64.b64encode(data).decode()})


def _cell(value: object) -> object:
    if value is None:
        return NULL
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    plain = _plain(value, lambda data: "\\x" + data.hex())
    text = plain if isinstance(plain, str) else _encoder.encode(plain).decode()
    return _cut(_escaped(text))


def _plain(value: object, of_bytes: Callable[[bytes], object]) -> object:
    """Return the JSON value of a value, recursively."""
    if isinstance(value, bytes):
        text = _text(value)
        return of_bytes(value) if text is None else text
    if isinstance(value, dict):
        return {str(name): _plain(one, of_bytes) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one, of_bytes) for one in value]
    return _plain_one(value)


def _plain_one(value: object) -> object:
    if isinstance(value, Decimal) and value == value.to_integral_value():
        return int(value)
    if isinstance(value, float) and not isfinite(value):
        return "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, date | time):  # a datetime is a date
        return value.isoformat().replace("+00:00", "Z")
    return str(value) if isinstance(value, timedelta) else value


def _text(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _escaped(text: str) -> str:
    return _ESCAPED.sub(lambda found: repr(found[0])[1:-1], text)


def _cut(text: str) -> str:
    return text if len(text) <= CELL_MAX else text[: CELL_MAX - 1] + "…"
