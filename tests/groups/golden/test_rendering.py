"""Rendering of messages, without anything that differs between runs."""

from dray.wire.apis.heartbeat import HEARTBEAT, HeartbeatRequest, HeartbeatResponse
from dray.wire.apis.join_group import (
    JOIN_GROUP,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    JoinGroupResponseMember,
)
from dray.wire.apis.offset_fetch import (
    OFFSET_FETCH,
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from tests.groups.golden.embedded import Subscription
from tests.groups.golden.names import Names
from tests.groups.golden.rendering import request_lines, response_lines

UUIDS = "0a1b2c3d-0000-4000-8000-000000000001", "0a1b2c3d-0000-4000-8000-000000000002"


def test_request_shows_fields_that_differ_from_their_defaults() -> None:
    subscription = Subscription(("t-run",)).encode()
    request = JoinGroupRequest(
        group_id="g-run",
        session_timeout_ms=7,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=subscription)],
    )
    assert request_lines(JOIN_GROUP, 5, request, Names("run")) == [
        "JoinGroup v5: group_id=g session_timeout_ms=7 protocol_type=consumer",
        "    protocols: name=range metadata=<subscription v1 topics=[t]>",
    ]


def test_request_with_defaults_shows_its_name() -> None:
    assert request_lines(HEARTBEAT, 0, HeartbeatRequest(), Names("run")) == ["Heartbeat v0"]


def test_response_shows_all_fields_of_its_version_and_no_others() -> None:
    assert response_lines(HEARTBEAT, 4, HeartbeatResponse(error_code=22), Names("run")) == [
        "  → ILLEGAL_GENERATION"
    ]
    response = JoinGroupResponse(error_code=25, protocol_name=None)
    (line,) = response_lines(JOIN_GROUP, 9, response, Names("run"))
    assert line == (
        "  → UNKNOWN_MEMBER_ID generation_id=-1 protocol_type=null protocol_name=null "
        'leader="" skip_assignment=false member_id="" members=[]'
    )
    (line,) = response_lines(JOIN_GROUP, 6, JoinGroupResponse(), Names("run"))
    assert line == '  → NONE generation_id=-1 protocol_name="" leader="" member_id="" members=[]'


def test_ids_are_named_by_appearance_and_members_are_sorted() -> None:
    first, second = (f"client-{uuid}" for uuid in UUIDS)
    members = [
        JoinGroupResponseMember(member_id=second, metadata=b"\xff"),
        JoinGroupResponseMember(member_id=first),
    ]
    lines = response_lines(
        JOIN_GROUP, 2, JoinGroupResponse(leader=first, member_id=first, members=members), Names("run")
    )
    assert lines == [
        '  → NONE generation_id=-1 protocol_name="" leader=client-<uuid-1> member_id=client-<uuid-1>',
        '    members: member_id=client-<uuid-1> metadata=""',
        "    members: member_id=client-<uuid-2> metadata=0xff",
    ]


def test_nested_structs_are_indented() -> None:
    partition = OffsetFetchResponsePartition(partition_index=1, committed_offset=7, metadata="x" * 300)
    response = OffsetFetchResponse(topics=[OffsetFetchResponseTopic(name="t-run", partitions=[partition])])
    assert response_lines(OFFSET_FETCH, 3, response, Names("run")) == [
        "  → NONE",
        "    topics: name=t",
        "      partitions: NONE partition_index=1 committed_offset=7 metadata=xxxxxxxxxx…(300 characters)",
    ]


def test_topic_ids_and_generated_member_ids_are_named() -> None:
    names = Names("run")
    names.learn_topic(bytes(15) + b"\x01", "t")
    assert names.topic(bytes(15) + b"\x01") == "t"
    assert names.topic(bytes(15) + b"\x02") == "00" * 15 + "02"
    assert names.text("member_id", "AbCdEfGhIjKlMnOpQrSt-_") == "<id-1>"
    assert names.text("error_message", "Member AbCdEfGhIjKlMnOpQrSt-_ of g-run.") == "Member <id-1> of g."
    assert names.is_own(names.own("g"))
    assert not names.is_own("g")
