"""Steps about groups: members of the classic protocol, offsets, coordinators."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Final

from dray.wire.apis.delete_groups import DeleteGroupsRequest
from dray.wire.apis.describe_groups import DescribeGroupsRequest
from dray.wire.apis.find_coordinator import FindCoordinatorRequest
from dray.wire.apis.heartbeat import HeartbeatRequest
from dray.wire.apis.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from dray.wire.apis.leave_group import LeaveGroupRequest, MemberIdentity
from dray.wire.apis.list_groups import ListGroupsRequest
from dray.wire.apis.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from dray.wire.apis.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from dray.wire.apis.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from dray.wire.apis.sync_group import SyncGroupRequest
from tests.api.authorization.steps import Step
from tests.api.authorization.topics import ALL
from tests.api.authorization.world import MISSING, PRESENT, World

_BY_ID_FROM: Final = 10
_GROUPS_FROM: Final = 8
_GROUPS: Final = (*PRESENT, *MISSING)
_PROTOCOLS: Final = [JoinGroupRequestProtocol(name="range", metadata=b"")]
_SHORT_MS: Final = 1


def _join(group: str, _: World, version: int, session_ms: int = 10_000) -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=group,
        session_timeout_ms=session_ms,
        rebalance_timeout_ms=10_000,
        member_id="" if session_ms == _SHORT_MS else "a stranger",
        protocol_type="consumer",
        protocols=_PROTOCOLS,
    )


def _sync(group: str, _: World, version: int, *, complete: bool = True) -> SyncGroupRequest:
    protocol = ("consumer", "range") if version >= 5 and complete else (None, None)
    return SyncGroupRequest(
        group_id=group,
        generation_id=1,
        member_id="a stranger",
        protocol_type=protocol[0],
        protocol_name=protocol[1],
    )


def _leave(group: str, _: World, version: int) -> LeaveGroupRequest:
    if version < 3:
        return LeaveGroupRequest(group_id=group, member_id="a stranger")
    return LeaveGroupRequest(group_id=group, members=[MemberIdentity(member_id="a stranger")])


def _classic_heartbeat(group: str, _: World, version: int) -> HeartbeatRequest:
    return HeartbeatRequest(group_id=group, generation_id=1, member_id="a stranger")


def _membership() -> Iterator[Step]:
    """Yield the steps of a member of the classic protocol, for each group."""
    for group in (*PRESENT, ""):
        shown = group or "group without name"
        yield Step(JoinGroupRequest, shown, partial(_join, group))
        yield Step(
            JoinGroupRequest,
            f"{shown}, invalid timeout",
            partial(_join, group, session_ms=_SHORT_MS),
        )
        yield Step(SyncGroupRequest, shown, partial(_sync, group))
        yield Step(
            HeartbeatRequest,
            shown,
            partial(_classic_heartbeat, group),
        )
        yield Step(LeaveGroupRequest, shown, partial(_leave, group))
    yield Step(SyncGroupRequest, "without protocol", partial(_sync, "other", complete=False), (5,))


def _commit(group: str, names: Sequence[str], world: World, version: int) -> OffsetCommitRequest:
    by_id = version >= _BY_ID_FROM
    topics = [
        OffsetCommitRequestTopic(
            name=name,
            topic_id=world.topic_id(name) if by_id else bytes(16),
            partitions=[
                OffsetCommitRequestPartition(partition_index=0, committed_offset=5, committed_metadata="")
            ],
        )
        for name in names
    ]
    return OffsetCommitRequest(group_id=group, topics=topics)


def _fetch(
    groups: Sequence[str], names: Sequence[str] | None, world: World, version: int
) -> OffsetFetchRequest:
    if version < _GROUPS_FROM:
        asked = (
            None
            if names is None
            else [OffsetFetchRequestTopic(name=name, partition_indexes=[0, 7]) for name in names]
        )
        return OffsetFetchRequest(group_id=next(iter(groups)), topics=asked)
    topics = (
        None
        if names is None
        else [
            OffsetFetchRequestTopics(name=name, topic_id=world.topic_id(name), partition_indexes=[0, 7])
            for name in names
        ]
    )
    return OffsetFetchRequest(
        groups=[OffsetFetchRequestGroup(group_id=group, topics=topics) for group in groups]
    )


def _by_id(names: Iterable[str]) -> list[str]:
    """Return the names of topics, but one missing topic only: all of them have the same id."""
    return [name for name in names if name not in MISSING[:-1]]


def _offsets() -> Iterator[Step]:
    for group in PRESENT:
        yield Step(
            OffsetCommitRequest,
            f"of {group}",
            partial(_commit, group, ALL),
            (2, 9) if group == "exact" else (9,),
        )
        yield Step(
            OffsetFetchRequest,
            f"of {group}",
            partial(_fetch, [group], ALL),
            (1, 2, 7) if group in ("exact", "other") else (7,),
        )
        yield Step(
            OffsetFetchRequest,
            f"all of {group}",
            partial(_fetch, [group], None),
            (2, 7) if group in ("exact", "other") else (7,),
        )
    yield Step(
        OffsetCommitRequest,
        "by id",
        partial(_commit, "exact", _by_id(ALL)),
        (10,),
    )
    yield Step(OffsetCommitRequest, "no topics", partial(_commit, "other", ()), (9,))
    yield Step(OffsetFetchRequest, "of several", partial(_fetch, PRESENT, ALL), (8, 9))
    yield Step(
        OffsetFetchRequest,
        "all of several",
        partial(_fetch, PRESENT, None),
        (8, 10),
    )
    yield Step(
        OffsetFetchRequest,
        "of several by id",
        partial(_fetch, PRESENT, _by_id(ALL)),
        (10,),
    )


def _delete(group: str, _: World, version: int) -> OffsetDeleteRequest:
    topics = [
        OffsetDeleteRequestTopic(name=name, partitions=[OffsetDeleteRequestPartition(partition_index=0)])
        for name in ALL
    ]
    return OffsetDeleteRequest(group_id=group, topics=topics)


def _coordinators(key_type: int, keys: Sequence[str], _: World, version: int) -> FindCoordinatorRequest:
    if version < 4:
        return FindCoordinatorRequest(key=next(iter(keys)), key_type=key_type)
    return FindCoordinatorRequest(key_type=key_type, coordinator_keys=list(keys))


def _coordinator_steps() -> Iterator[Step]:
    for group in PRESENT:
        yield Step(
            FindCoordinatorRequest,
            f"of group {group}",
            partial(_coordinators, 0, [group]),
            (0, 3) if group in ("exact", "other") else (3,),
        )
        yield Step(
            FindCoordinatorRequest,
            f"of transactional id {group}",
            partial(_coordinators, 1, [group]),
            (1, 3) if group in ("exact", "other") else (3,),
        )
    for key_type, what in ((0, "groups"), (1, "transactional ids"), (2, "share partitions")):
        keys = _GROUPS if key_type < 2 else ["exact:AQEBAQEBAQEBAQEBAQEBAQ:0"]
        yield Step(
            FindCoordinatorRequest,
            f"of {what}",
            partial(_coordinators, key_type, keys),
            (4, 6) if key_type < 2 else (6,),
        )


async def _restore_groups(world: World) -> None:
    await world.restore_offsets()


STEPS: Final = (
    *_membership(),
    *_offsets(),
    *(
        Step(
            OffsetDeleteRequest,
            f"of {group}",
            partial(_delete, group),
            prepare=_restore_groups,
        )
        for group in PRESENT
    ),
    Step(
        DeleteGroupsRequest,
        "some",
        lambda *_: DeleteGroupsRequest(groups_names=[*_GROUPS, "exact-consumer", "other-consumer"]),
        prepare=_restore_groups,
    ),
    Step(
        DescribeGroupsRequest,
        "some",
        lambda _, version: DescribeGroupsRequest(
            groups=[*_GROUPS, "exact-consumer"], include_authorized_operations=version >= 3
        ),
        (0, 3, 5, 6),
        _restore_groups,
    ),
    Step(
        ListGroupsRequest,
        "all",
        lambda *_: ListGroupsRequest(),
        prepare=lambda world: world.restore_consumers(),
    ),
    *_coordinator_steps(),
)
