"""Where groups live in the metadata store.

    /dray/v1/groups/<group>                                 the group: members, epochs, assignments
    /dray/v1/group-offsets/<group>/<topic>/<partition>      an offset that was committed

All keys of a group are in one domain, so that offsets are committed together with a look at the group. A
group's name may be any text, even none, and is written as in a URL.
"""

from urllib.parse import quote, unquote
from zlib import crc32

from dray.meta.port import Domain

GROUPS_PREFIX = "/dray/v1/groups/"
_OFFSETS_PREFIX = "/dray/v1/group-offsets/"
_NAMELESS = "%"
"""Stands for the group without a name; no other name is written like this."""


def group_domain(group_id: str, domains: int) -> Domain:
    return Domain(f"groups-{crc32(group_id.encode()) % domains}")


def group_domains(domains: int) -> list[Domain]:
    return [Domain(f"groups-{number}") for number in range(domains)]


def group_key(group_id: str) -> str:
    return f"{GROUPS_PREFIX}{_written(group_id)}"


def group_of(key: str) -> str:
    """Return the group whose key this is."""
    name = key.removeprefix(GROUPS_PREFIX)
    return "" if name == _NAMELESS else unquote(name)


def groups_range() -> tuple[str, str]:
    return GROUPS_PREFIX, f"{GROUPS_PREFIX}~"


def offset_key(group_id: str, topic: str, partition: int) -> str:
    return f"{_OFFSETS_PREFIX}{_written(group_id)}/{topic}/{partition}"


def offsets_range(group_id: str, topic: str | None = None) -> tuple[str, str]:
    """Return the scan that covers the offsets of a group, or those of one of its topics."""
    directory = f"{_OFFSETS_PREFIX}{_written(group_id)}/"
    if topic is None:
        return f"{directory}!/", f"{directory}~/"  # a topic may begin with a dash or a dot, before the slash
    return f"{directory}{topic}/", f"{directory}{topic}/~"


def partition_of(key: str) -> tuple[str, int]:
    """Return the topic and the partition whose offset the key holds."""
    _, topic, partition = key.rsplit("/", 2)
    return topic, int(partition)


def _written(group_id: str) -> str:
    return quote(group_id, safe="").replace("~", "%7E") or _NAMELESS
