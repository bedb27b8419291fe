"""What a legal path and a legal range are; every backend asks here first, so all refuse the same things."""

import re
from collections.abc import Sequence
from typing import Final

from dray.objects.port import ByteRange, OutOfRange

PATH_LENGTH_MAX: Final = 700
"""S3 takes 1,024 bytes, GCS and Azure as many; the rest is left for the prefix of the store."""

SEGMENT_LENGTH_MAX: Final = 255
"""As much as file systems take."""

_SEGMENT: Final = (
    r"[ !$&'()*+,\-0-9:;=?@A-Z_a-z][ !$&'()*+,\-.0-9:;=?@A-Z_a-z]" + f"{{0,{SEGMENT_LENGTH_MAX - 1}}}+"
)
_is_segment: Final = re.compile(_SEGMENT).fullmatch
_is_path: Final = re.compile(f"{_SEGMENT}(?:/{_SEGMENT})*+").fullmatch


def is_segment(text: str) -> bool:
    """Whether `text` may stand between two slashes of a path."""
    return _is_segment(text) is not None


def check_path(path: str) -> None:
    """Raise `ValueError` unless `path` may name an object."""
    if len(path) <= PATH_LENGTH_MAX and _is_path(path):
        return  # every call of every store asks this, so the usual answer is one match
    if len(path) > PATH_LENGTH_MAX:
        raise ValueError(f"object path is {len(path)} characters long, at most {PATH_LENGTH_MAX} are allowed")
    for segment in path.split("/"):
        if not is_segment(segment):
            raise ValueError(
                f"object path {path!r}: segment {segment!r} is empty, too long, starts with a dot or has a"
                " character that not every store keeps"
            )


def folder_of(prefix: str) -> str:
    """Return the folder that holds all that starts with `prefix`, with its slash; "" for the root."""
    return prefix[: prefix.rfind("/") + 1]


def check_prefix(prefix: str) -> None:
    """Raise `ValueError` unless some legal path starts with `prefix`."""
    if prefix:
        check_path(prefix.removesuffix("/"))


def check_ranges(ranges: Sequence[ByteRange]) -> None:
    """Raise `ValueError` unless all `ranges` could lie in some object."""
    for wanted in ranges:
        if wanted.start < 0 or wanted.length < 1:
            raise ValueError(f"byte range {wanted} is empty or starts before 0")


def check_inside(path: str, ranges: Sequence[ByteRange], size_bytes: int) -> None:
    """Raise `OutOfRange` unless all `ranges` lie in an object of this size."""
    for wanted in ranges:
        if wanted.end > size_bytes:
            raise OutOfRange(
                f"{path} has {size_bytes} bytes, but {wanted.start} to {wanted.end} was asked for"
            )
