"""Key families: the declaration of every kind of key in the metadata store.

A family is a pattern such as `/dray/v1/streams/<stream>/head`, together with the domain that holds its keys,
the type of its values, the code that writes them, and their meaning. Families are data: the functions beside
them build the keys, `docs/formats/metadata-v1.md` is generated from them, and a test compares them with every
key that a running cluster writes.

Keys sort as the store sorts them (by byte, among keys of one depth), so numbers have a fixed width: offsets
and sizes are twenty decimal digits, ids are hexadecimal.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from dray.ids import Domain

ROOT: Final = "/dray/v1"


class Scope(StrEnum):
    """Which domains of the store hold a family's keys, as a pattern of their names."""

    CLUSTER = "cluster"
    GROUPS = "groups-<number>"
    LOG = "log-<domain>"


@dataclass(frozen=True)
class KeyFamily:
    """All keys of one pattern; `<name>` stands for one path segment."""

    path: str
    """The pattern below `ROOT`."""
    scope: Scope
    values: tuple[str, ...]
    """The msgspec structs that a value may be, by class name; none for a value that is described by `raw`."""
    writer: str
    meaning: str
    raw: str = ""
    """The encoding of values that are not MessagePack structs."""

    @property
    def pattern(self) -> str:
        return f"{ROOT}/{self.path}"


def restore_key(domain: Domain) -> str:
    """Return the key of the restore marker, of which every domain has its own."""
    return f"{ROOT}/restore/{domain}"


def children(directory: str) -> tuple[str, str]:
    """Return the scan that covers the keys right under a directory, which ends with a slash."""
    return directory, f"{directory}~"
