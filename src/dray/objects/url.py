"""Storage URLs: parsing and validation."""

import re
from dataclasses import dataclass
from typing import Final, Literal, cast

from dray.objects.paths import check_path

Scheme = Literal["file", "memory", "s3", "gs", "az"]

_CLOUD: Final = ("s3", "gs", "az")
_BUCKET: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,220}[A-Za-z0-9]")
_FORMS: Final = (
    "file:/some/directory, s3://bucket/prefix, gs://bucket/prefix, az://container/prefix or memory:"
)


@dataclass(frozen=True, slots=True)
class StorageUrl:
    """A parsed URL: `bucket` is a bucket or container, `path` a prefix in it, or the directory of `file:`."""

    scheme: Scheme
    bucket: str
    path: str

    def __str__(self) -> str:
        if self.scheme in _CLOUD:
            return f"{self.scheme}://{self.bucket}" + (f"/{self.path}" if self.path else "")
        return f"{self.scheme}:{self.path}"


def parse_storage_url(text: str) -> StorageUrl:
    """Parse a storage URL; raises `ValueError` with a user-facing message."""
    scheme, colon, rest = text.partition(":")
    if not colon or scheme not in ("file", "memory", *_CLOUD):
        raise ValueError(f"{text!r} is not a storage URL; expected {_FORMS}")
    if scheme in _CLOUD:
        return _parse_cloud(text, cast("Scheme", scheme), rest)
    if scheme == "memory":
        if rest:
            raise ValueError(f"{text!r}: expected nothing after memory:")
        return StorageUrl("memory", "", "")
    return StorageUrl("file", "", _directory(text, rest))


def _directory(text: str, rest: str) -> str:
    if rest.startswith("//"):
        # file://host/path is on another machine; file:///path is not.
        host, slash, path = rest.removeprefix("//").partition("/")
        if host not in ("", "localhost") or not slash:
            raise ValueError(f"{text!r} contains the host {host!r}; expected file:/some/directory")
        rest = f"/{path}"
    if not rest:
        raise ValueError(f"{text!r} contains no directory; expected file:/some/directory")
    return rest


def _parse_cloud(text: str, scheme: Scheme, rest: str) -> StorageUrl:
    if not rest.startswith("//"):
        raise ValueError(f"{text!r}: expected {scheme}://bucket/prefix")
    bucket, _, prefix = rest.removeprefix("//").partition("/")
    if not _BUCKET.fullmatch(bucket):
        raise ValueError(f"{text!r}: {bucket!r} is not a valid name of a bucket or container")
    prefix = prefix.removesuffix("/")
    if prefix:
        check_path(prefix)
    return StorageUrl(scheme, bucket, prefix)
