"""Turns what a compiled function raised into an error that names the message, the byte and the field.

The function itself kept no track: the line that raised and the local variables at that moment tell all.
"""

import struct
from collections.abc import Mapping
from types import TracebackType
from typing import Final

from dray.wire.faults import BadLength, DecodeError, EncodeError, Truncated, UnexpectedNull
from dray.wire.source import Places

# What straight-line code over hostile bytes can raise: nothing here is caught that is not explained.
DECODE_FAULTS: Final = (DecodeError, IndexError, struct.error)
ENCODE_FAULTS: Final = (EncodeError, struct.error, TypeError, ValueError, AttributeError, OverflowError)

_SAYING: Final[Mapping[type[DecodeError], str]] = {
    Truncated: "the bytes end too early",
    BadLength: "a length or count is impossible",
    UnexpectedNull: "null is not allowed",
}


def decode_fault(message: str, places: Mapping[int, Places], fault: Exception) -> DecodeError:
    """Return the error to raise for `fault`."""
    kind = type(fault) if isinstance(fault, DecodeError) else Truncated
    trace = fault.__traceback__
    assert trace is not None
    known = trace.tb_frame.f_locals
    position, left = known["pos"], len(known["buf"]) - known["pos"]
    path = _path(places, trace, left)
    return kind(f"{message}: {_SAYING[kind]} at byte {position}, in {path}")


def encode_fault(message: str, places: Mapping[int, Places], fault: Exception) -> EncodeError:
    """Return the error to raise for `fault`."""
    trace = fault.__traceback__
    assert trace is not None
    return EncodeError(f"{message}: {_path(places, trace, 0)}: {fault}")


def _path(places: Mapping[int, Places], trace: TracebackType, left: int) -> str:
    """The field at which the bytes ran out, among those that the line is for."""
    here = places.get(trace.tb_lineno, ((0, "?"),))
    path = [path for offset, path in here if offset <= left or offset == 0][-1]
    lists = {name: len(value) for name, value in trace.tb_frame.f_locals.items() if isinstance(value, list)}
    return path.format_map(lists)
