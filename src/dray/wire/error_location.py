"""Location of errors in compiled functions: the message, the byte and the field.

Compiled functions do no bookkeeping: the location follows from the line that raised and its local variables.
"""

import struct
from collections.abc import Mapping
from types import TracebackType
from typing import Final

from dray.wire.errors import BadLength, DecodeError, EncodeError, Truncated, UnexpectedNull
from dray.wire.source import FieldPaths

# All that compiled code can raise on hostile bytes or wrong values.
DECODE_ERRORS: Final = (DecodeError, IndexError, struct.error)
ENCODE_ERRORS: Final = (EncodeError, struct.error, TypeError, ValueError, AttributeError, OverflowError)

_DESCRIPTIONS: Final[Mapping[type[DecodeError], str]] = {
    Truncated: "the bytes end too early",
    BadLength: "a length or count is impossible",
    UnexpectedNull: "null is not allowed",
}


def located_decode_error(message: str, paths: Mapping[int, FieldPaths], error: Exception) -> DecodeError:
    """Return the error to raise in place of `error`."""
    kind = type(error) if isinstance(error, DecodeError) else Truncated
    trace = error.__traceback__
    assert trace is not None
    known = trace.tb_frame.f_locals
    position, left = known["pos"], len(known["buf"]) - known["pos"]
    path = _path(paths, trace, left)
    return kind(f"{message}: {_DESCRIPTIONS[kind]} at byte {position}, in {path}")


def located_encode_error(message: str, paths: Mapping[int, FieldPaths], error: Exception) -> EncodeError:
    """Return the error to raise in place of `error`."""
    trace = error.__traceback__
    assert trace is not None
    return EncodeError(f"{message}: {_path(paths, trace, 0)}: {error}")


def _path(paths: Mapping[int, FieldPaths], trace: TracebackType, left: int) -> str:
    """Return the field at which the bytes ended, among those that the line reads or writes."""
    here = paths.get(trace.tb_lineno, ((0, "?"),))
    path = [path for offset, path in here if offset <= left or offset == 0][-1]
    lists = {name: len(value) for name, value in trace.tb_frame.f_locals.items() if isinstance(value, list)}
    return path.format_map(lists)
