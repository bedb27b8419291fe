"""`dray groups list`, `describe` and `delete` against a broker."""

import json
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from dray.testing import broker
from dray.testing.broker import EmbeddedBroker
from tests.cli.invoking import invoke, invoke_ok, new_topic
from tests.cli.members import member

_numbers = count()


@pytest.fixture(scope="module")
def quick() -> Iterator[EmbeddedBroker]:
    """A broker without an initial rebalance delay."""
    with broker({"groups.initial_rebalance_delay_ms": "0"}) as running:
        yield running


def described(kafka: EmbeddedBroker, *groups: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(
        invoke_ok("groups", "describe", *groups, "--json", kafka=kafka).out
    )
    return found


def new_group(kafka: EmbeddedBroker, topic: str) -> str:
    """Create a group without members that has committed the start of a topic."""
    name = f"cli-group-{next(_numbers)}"
    invoke_ok("groups", "reset-offsets", name, "--topic", topic, "--to-earliest", "--execute", kafka=kafka)
    return name


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_describe_group_with_a_member(quick: EmbeddedBroker, protocol: str) -> None:
    topic, group = new_topic(quick, partitions=2), f"with-member-{protocol}"
    invoke_ok("produce", topic, "--partition=1", stdin=b"a\nb\nc\n", kafka=quick)
    with member(quick, group, topic, 3, group_protocol=protocol, client_id="me"):
        invoke_ok("produce", topic, "--partition=1", stdin=b"d\ne\n", kafka=quick)
        listed = json.loads(invoke_ok("groups", "list", "--json", kafka=quick).out)
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
        lines = [line.split() for line in invoke_ok("groups", "describe", group, kafka=quick).lines]
        assert lines[0][:3] == ["group", f"{group},", "Stable,"]
        assert lines[2] == [member_id, "me", "127.0.0.1", f"{topic}[0,1]"]
        assert lines[-2] == [topic, "1", "3", "5", "2", member_id]
        assert lines[-3] == [topic, "0", "-", "0", "-", member_id]
        assert lines[-1] == ["total", "lag", "2"]


def test_static_member_is_described_with_its_instance_id(quick: EmbeddedBroker) -> None:
    topic = new_topic(quick)
    invoke_ok("produce", topic, stdin=b"a\n", kafka=quick)
    with member(quick, "static", topic, 1, group_instance_id="first"):
        (found,) = described(quick, "static")
        (only,) = found["members"]
        assert only["instance_id"] == "first"
        assert (
            f"{only['member_id']} (first)"
            in invoke_ok("groups", "describe", "static", kafka=quick).out.decode()
        )


def test_describe_group_without_members(quick: EmbeddedBroker) -> None:
    topic = new_topic(quick)
    group = new_group(quick, topic)
    invoke_ok("produce", topic, stdin=b"a\nb\n", kafka=quick)
    lines = invoke_ok("groups", "describe", group, kafka=quick).lines
    assert lines[0] == f"group {group}, Empty, classic protocol, coordinator 1"
    assert lines[1] == "  no members"
    assert lines[-2].split() == [topic, "0", "0", "2", "2", "-"]


def test_offsets_of_deleted_topics_are_not_described(quick: EmbeddedBroker) -> None:
    topic = new_topic(quick)
    group = new_group(quick, topic)
    invoke_ok("topics", "delete", topic, "--yes", kafka=quick)
    assert invoke_ok("groups", "describe", group, kafka=quick).lines[1:] == [
        "  no members",
        "  no committed offsets",
    ]


def test_describe_without_names_describes_all(quick: EmbeddedBroker) -> None:
    topic = new_topic(quick)
    groups = {new_group(quick, topic), new_group(quick, topic)}
    assert groups <= {group["group"] for group in described(quick)}
    text = invoke_ok("groups", "describe", *groups, kafka=quick).out.decode()
    assert text.count("\n\ngroup ") == 1


def test_unknown_group_is_reported_in_one_line(quick: EmbeddedBroker) -> None:
    for arguments in (["describe", "no-such-group"], ["reset-offsets", "no-such-group", "--to-latest"]):
        result = invoke("groups", *arguments, bootstrap=quick.bootstrap)
        assert result.code == 1
        assert result.err == "dray: group 'no-such-group': there is no such group (GROUP_ID_NOT_FOUND)\n"


def test_delete_continues_after_failures_and_reports_each(quick: EmbeddedBroker) -> None:
    topic = new_topic(quick)
    one, other = new_group(quick, topic), new_group(quick, topic)
    invoke_ok("produce", topic, stdin=b"a\n", kafka=quick)
    with member(quick, "busy", topic, 1):
        result = invoke(
            "groups", "delete", one, "no-such-group", "busy", other, one, "--yes", bootstrap=quick.bootstrap
        )
    assert result.code == 1
    assert result.lines == [f"deleted group {one}", f"deleted group {other}"]
    assert result.err.splitlines() == [
        "dray: group 'no-such-group': there is no such group (GROUP_ID_NOT_FOUND)",
        "dray: group 'busy': it has members; stop them first (NON_EMPTY_GROUP)",
    ]
    left = {group["group"] for group in json.loads(invoke_ok("groups", "list", "--json", kafka=quick).out)}
    assert "busy" in left
    assert not {one, other} & left


def test_delete_without_a_terminal_requires_yes() -> None:
    result = invoke("groups", "delete", "x")
    assert result.code == 2
    assert "deleting groups needs --yes when standard input is not a terminal" in result.err


def test_broker_without_groups_lists_nothing() -> None:
    with broker() as kafka:
        assert invoke_ok("groups", "list", kafka=kafka).out == b""
        assert invoke_ok("groups", "describe", kafka=kafka).out == b""
        assert json.loads(invoke_ok("groups", "list", "--json", kafka=kafka).out) == []
        assert json.loads(invoke_ok("groups", "describe", "--json", kafka=kafka).out) == []


@pytest.mark.parametrize("command", ["", "list", "describe", "delete", "reset-offsets"])
def test_help_has_an_example(command: str) -> None:
    result = invoke("groups", *command.split(), "--help")
    assert result.code == 0
    assert any(line.startswith(f"    dray groups {command}") for line in result.lines)
    assert "\\b" not in result.out.decode()
