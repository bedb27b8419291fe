"""Validation of paths and ranges, which every backend runs first, so that all refuse the same ones."""

import re
from collections.abc import Sequence
from typing import Final

from dray.objects.port import ByteRange, OutOfRange

PATH_LENGTH_MAX: Final = 700
"""S3, GCS and Azure allow 1,024 bytes; the rest is reserved for the prefix of the store."""

SEGMENT_LENGTH_MAX: Final = 255
"""The limit of file systems."""

_SEGMENT: Final = (
    r"[ !$&'()*+,\-0-9:;=?@A-Z_a-z][ !$&'()*+,\-.0-9:;=?@A-Z_a-z]" + f"{{0,{SEGMENT_LENGTH_MAX - 1}}}+"
)
_is_segment: Final = re.compile(_SEGMENT).fullmatch
_is_path: Final = re.compile(f"{_SEGMENT}(?:/{_SEGMENT})*+").fullmatch


def is_segment(text: str) -> bool:
    """Return whether `text` is a valid segment of a path."""
    return _is_segment(text) is not None


def check_path(path: str) -> None:
    """Raise `ValueError` unless `path` is a valid path of an object."""
    if len(path) <= PATH_LENGTH_MAX and _is_path(path):
        return  # every call of every store runs this, so the common case is one match
    if len(path) > PATH_LENGTH_MAX:
        raise ValueError(f"object path is {len(path)} characters long, at most {PATH_LENGTH_MAX} are allowed")
    for segment in path.split("/"):
        if not is_segment(segment):
            raise ValueError(
                f"object path {path!r}: segment {segment!r} is empty, too long, starts with a dot or has a"
                " character that not every store supports"
            )


def folder_of(prefix: str) -> str:
    """Return the folder of all paths that start with `prefix`, with its slash; "" for the root."""
    return prefix[: prefix.rfind("/") + 1]


def check_prefix(prefix: str) -> None:
    """Raise `ValueError` unless a valid path can start with `prefix`."""
    if prefix:
        check_path(prefix.removesuffix("/"))


def check_ranges(ranges: Sequence[ByteRange]) -> None:
    """Raise `ValueError` unless all `ranges` are valid for some object."""
    for wanted in ranges:
        if wanted.start < 0 or wanted.length < 1:
            raise ValueError(f"byte range {wanted} is empty or starts before 0")


def check_inside(path: str, ranges: Sequence[ByteRange], size_bytes: int) -> None:
    """Raise `OutOfRange` unless all `ranges` are inside an object of this size."""
    for wanted in ranges:
        if wanted.end > size_bytes:
            raise OutOfRange(
                f"{path} has {size_bytes} bytes, but the range is {wanted.start} to {wanted.end}"
            )
