"""`dray groups list`, `describe` and `delete` against a broker."""

import json
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from dray.testing import broker
from dray.testing.broker import EmbeddedBroker
from tests.cli.calling import call, good, new_topic
from tests.cli.members import member

_numbers = count()


@pytest.fixture(scope="module")
def quick() -> Iterator[EmbeddedBroker]:
    """A broker whose groups do not wait for more members."""
    with broker({"groups.initial_rebalance_delay_ms": "0"}) as running:
        yield running


def described(kafka: EmbeddedBroker, *groups: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(good("groups", "describe", *groups, "--json", kafka=kafka).out)
    return found


def new_group(kafka: EmbeddedBroker, topic: str) -> str:
    """Make a group without members that has committed the beginning of a topic."""
    name = f"cli-group-{next(_numbers)}"
    good("groups", "reset-offsets", name, "--topic", topic, "--to-earliest", "--execute", kafka=kafka)
    return name


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_with_a_member(quick: EmbeddedBroker, protocol: str) -> None:
    topic, group = new_topic(quick, partitions=2), f"with-member-{protocol}"
    good("produce", topic, "--partition=1", stdin=b"a\nb\nc\n", kafka=quick)
    with member(quick, group, topic, 3, group_protocol=protocol, client_id="me"):
        good("produce", topic, "--partition=1", stdin=b"d\ne\n", kafka=quick)
        listed = json.loads(good("groups", "list", "--json", kafka=quick).out)
        assert {"group": group, "protocol": protocol, "state": "Stable", "type": "consumer"} in listed
        (found,) = described(quick, group)
        (only,) = found.pop("members")
        member_id = only.pop("member_id")
        assert only == {
            "instance_id": None,
            "client_id": "me",
            "host": "/127.0.0.1",
            "partitions": {topic: [0, 1]},
        }
        assert found == {
            "group": group,
            "protocol": protocol,
            "type": "consumer",
            "state": "Stable",
            "assignor": "range" if protocol == "classic" else "uniform",
            "coordinator": 1,
            "lag": 2,
            "partitions": [
                {
                    "topic": topic,
                    "partition": 0,
                    "committed": None,
                    "end": 0,
                    "lag": None,
                    "member_id": member_id,
                },
                {"topic": topic, "partition": 1, "committed": 3, "end": 5, "lag": 2, "member_id": member_id},
            ],
        }
        lines = [line.split() for line in good("groups", "describe", group, kafka=quick).lines]
        assert lines[0][:3] == ["group", f"{group},", "Stable,"]
        assert lines[2] == [member_id, "me", "127.0.0.1", f"{topic}[0,1]"]
        assert lines[-2] == [topic, "1", "3", "5", "2", member_id]
        assert lines[-3] == [topic, "0", "-", "0", "-", member_id]
        assert lines[-1] == ["lag", "2", "in", "all"]


def test_a_static_member_is_told_by_its_instance(quick: EmbeddedBroker) -> None:
    topic = new_topic(quick)
    good("produce", topic, stdin=b"a\n", kafka=quick)
    with member(quick, "static", topic, 1, group_instance_id="first"):
        (found,) = described(quick, "static")
        (only,) = found["members"]
        assert only["instance_id"] == "first"
        assert (
            f"{only['member_id']} (first)" in good("groups", "describe", "static", kafka=quick).out.decode()
        )


def test_a_group_without_members(quick: EmbeddedBroker) -> None:
    topic = new_topic(quick)
    group = new_group(quick, topic)
    good("produce", topic, stdin=b"a\nb\n", kafka=quick)
    lines = good("groups", "describe", group, kafka=quick).lines
    assert lines[0] == f"group {group}, Empty, classic protocol, coordinator 1"
    assert lines[1] == "  no members"
    assert lines[-2].split() == [topic, "0", "0", "2", "2", "-"]


def test_offsets_of_a_topic_that_was_deleted_are_not_told(quick: EmbeddedBroker) -> None:
    topic = new_topic(quick)
    group = new_group(quick, topic)
    good("topics", "delete", topic, "--yes", kafka=quick)
    assert good("groups", "describe", group, kafka=quick).lines[1:] == [
        "  no members",
        "  no committed offsets",
    ]


def test_describe_without_names_tells_all(quick: EmbeddedBroker) -> None:
    topic = new_topic(quick)
    groups = {new_group(quick, topic), new_group(quick, topic)}
    assert groups <= {group["group"] for group in described(quick)}
    text = good("groups", "describe", *groups, kafka=quick).out.decode()
    assert text.count("\n\ngroup ") == 1


def test_a_group_that_is_not_there(quick: EmbeddedBroker) -> None:
    for arguments in (["describe", "nobody"], ["reset-offsets", "nobody", "--to-latest"]):
        called = call("groups", *arguments, bootstrap=quick.bootstrap)
        assert called.code == 1
        assert called.err == "dray: group 'nobody': there is no such group (GROUP_ID_NOT_FOUND)\n"


def test_deleting_goes_on_and_tells_of_each(quick: EmbeddedBroker) -> None:
    topic = new_topic(quick)
    one, other = new_group(quick, topic), new_group(quick, topic)
    good("produce", topic, stdin=b"a\n", kafka=quick)
    with member(quick, "busy", topic, 1):
        called = call(
            "groups", "delete", one, "nobody", "busy", other, one, "--yes", bootstrap=quick.bootstrap
        )
    assert called.code == 1
    assert called.lines == [f"deleted group {one}", f"deleted group {other}"]
    assert called.err.splitlines() == [
        "dray: group 'nobody': there is no such group (GROUP_ID_NOT_FOUND)",
        "dray: group 'busy': it has members; stop them first (NON_EMPTY_GROUP)",
    ]
    left = {group["group"] for group in json.loads(good("groups", "list", "--json", kafka=quick).out)}
    assert "busy" in left
    assert not {one, other} & left


def test_deleting_needs_somebody_to_ask() -> None:
    called = call("groups", "delete", "x")
    assert called.code == 2
    assert "deleting groups needs --yes when nobody can be asked" in called.err


def test_a_broker_without_groups_lists_nothing() -> None:
    with broker() as kafka:
        assert good("groups", "list", kafka=kafka).out == b""
        assert good("groups", "describe", kafka=kafka).out == b""
        assert json.loads(good("groups", "list", "--json", kafka=kafka).out) == []
        assert json.loads(good("groups", "describe", "--json", kafka=kafka).out) == []


@pytest.mark.parametrize("command", ["", "list", "describe", "delete", "reset-offsets"])
def test_help_shows_an_example_that_can_be_typed(command: str) -> None:
    called = call("groups", *command.split(), "--help")
    assert called.code == 0
    assert any(line.startswith(f"    dray groups {command}") for line in called.lines)
    assert "\\b" not in called.out.decode()
