"""Keys of consumer groups and their committed offsets.

All keys of a group are in one domain, so that an offset commit checks the group's version. A group's name may
be any text, even empty, and is percent-encoded.
"""

from functools import lru_cache
from typing import Final
from urllib.parse import quote, unquote
from zlib import crc32

from dray.ids import Domain
from dray.keyspace.families import ROOT, KeyFamily, Scope, children

GROUPS_PREFIX: Final = f"{ROOT}/groups/"
_OFFSETS: Final = f"{ROOT}/group-offsets/"
_EMPTY_NAME: Final = "%"
"""Stands for the group whose name is empty; no other name is encoded like this."""

FAMILIES: Final = (
    KeyFamily(
        "groups/<group>",
        Scope.GROUPS,
        ("ClassicGroup", "ConsumerGroup", "Tombstone"),
        writer="coordinators, on every state change of the group",
        meaning="A group: its members, epochs and assignments; or the tombstone of a group being deleted.",
    ),
    KeyFamily(
        "group-offsets/<group>/<topic>/<partition>",
        Scope.GROUPS,
        ("CommittedOffset",),
        writer="coordinators, on OffsetCommit; removed on expiry and OffsetDelete",
        meaning="A committed offset.",
    ),
    KeyFamily(
        "restore/groups-<number>",
        Scope.GROUPS,
        ("RestoreMarker",),
        writer="backup, while the domain is restored",
        meaning="Checked by every commit of the restore, so that an earlier one cannot continue.",
    ),
)


@lru_cache(maxsize=4096)  # every heartbeat needs it
def group_name(group_id: str) -> str:
    """Return a group's name as a path segment that sorts before `~`."""
    return quote(group_id, safe="").replace("~", "%7E") or _EMPTY_NAME


def group_domain(group_id: str, domains: int) -> Domain:
    return Domain(f"groups-{crc32(group_id.encode()) % domains}")


def group_domains(domains: int) -> list[Domain]:
    return [Domain(f"groups-{number}") for number in range(domains)]


def group_key(group_id: str) -> str:
    return f"{GROUPS_PREFIX}{group_name(group_id)}"


def group_of(key: str) -> str:
    """Return the group whose key this is."""
    name = key.removeprefix(GROUPS_PREFIX)
    return "" if name == _EMPTY_NAME else unquote(name)


def groups_range() -> tuple[str, str]:
    return children(GROUPS_PREFIX)


def offset_key(group_id: str, topic: str, partition: int) -> str:
    return f"{_OFFSETS}{group_name(group_id)}/{topic}/{partition}"


def offsets_range(group_id: str, topic: str | None = None) -> tuple[str, str]:
    """Return the scan that covers the offsets of a group, or those of one of its topics."""
    directory = f"{_OFFSETS}{group_name(group_id)}/"
    if topic is None:
        return f"{directory}!/", f"{directory}~/"  # a topic may begin with a dash or a dot, before the slash
    return children(f"{directory}{topic}/")


def all_offsets_range() -> tuple[str, str]:
    """Return the scan that covers the offsets of all groups of a domain."""
    return f"{_OFFSETS}!//", f"{_OFFSETS}~//"  # a group may begin with a dash or a dot, before the slash


def group_of_offset(key: str) -> str:
    """Return the group whose offset the key holds."""
    name = key.removeprefix(_OFFSETS).partition("/")[0]
    return "" if name == _EMPTY_NAME else unquote(name)


def partition_of(key: str) -> tuple[str, int]:
    """Return the topic and the partition whose offset the key holds."""
    _, topic, partition = key.rsplit("/", 2)
    return topic, int(partition)
