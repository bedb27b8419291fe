"""Builders of commands of classic members, and of committers."""

from typing import Any

from dray.groups.commands import Join, OffsetCommitter, Sync


def a_join(member_id: str = "", **changes: Any) -> Join:
    fields: dict[str, Any] = {
        "member_id": member_id,
        "instance_id": None,
        "client_id": "client",
        "client_host": "/10.0.0.1",
        "protocol_type": "consumer",
        "protocols": (("range", b"r"),),
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 60_000,
        "broker": 1,
        "new_member_id": "",
    }
    return Join(**fields | changes)


def a_sync(member_id: str, generation: int, **changes: Any) -> Sync:
    fields: dict[str, Any] = {
        "member_id": member_id,
        "instance_id": None,
        "generation": generation,
        "protocol_type": "consumer",
        "protocol": "range",
        "assignments": (),
        "broker": 1,
    }
    return Sync(**fields | changes)


def a_committer(member_id: str = "", epoch: int = -1, **changes: Any) -> OffsetCommitter:
    fields: dict[str, Any] = {"member_id": member_id, "instance_id": None, "epoch": epoch, "broker": 1}
    return OffsetCommitter(**fields | changes)
