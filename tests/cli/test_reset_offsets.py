"""`dray groups reset-offsets`: its output, and the offsets that a client then finds."""

import json
import re
from collections.abc import Iterator
from itertools import count

import pytest

from dray.client import Admin, BrokerError, ClientConfig
from dray.client.groups import commit_offsets
from dray.testing import broker
from dray.testing.broker import EmbeddedBroker
from tests.cli.invoking import Result, invoke, invoke_ok, new_topic
from tests.cli.librdkafka import Record, delete_before, write
from tests.cli.members import committed, member

pytestmark = pytest.mark.slow

NOTHING = -1001
TIMES = [1_000, 2_000, 3_000, 4_000, 5_000, 6_000]
_numbers = count()


@pytest.fixture(scope="module")
def quick() -> Iterator[EmbeddedBroker]:
    """A broker without an initial rebalance delay."""
    with broker({"groups.initial_rebalance_delay_ms": "0"}) as running:
        yield running


@pytest.fixture
def topic(quick: EmbeddedBroker) -> str:
    """A topic of three partitions: six records of which the first two were deleted, one record, none."""
    name = new_topic(quick, partitions=3)
    write(quick, name, [Record(None, b"x", timestamp=time) for time in TIMES])
    write(quick, name, [Record(None, b"x", partition=1, timestamp=9_000)])
    delete_before(quick, name, 2)
    return name


@pytest.fixture
def group(quick: EmbeddedBroker, topic: str) -> str:
    """A group that has committed 3 in the first partition, 1 in the second, nothing in the third."""
    name = f"reset-{next(_numbers)}"
    reset(quick, name, "--topic", topic, "--partition=0", "--to-offset=3", "--execute")
    reset(quick, name, "--topic", topic, "--partition=1", "--to-offset=1", "--execute")
    assert committed(quick, name, topic, 3) == [3, 1, NOTHING]
    return name


def reset(kafka: EmbeddedBroker, *arguments: str) -> Result:
    return invoke_ok("groups", "reset-offsets", *arguments, kafka=kafka)


@pytest.mark.parametrize(
    ("where", "there"),
    [
        ("--to-earliest", [2, 0]),
        ("--to-latest", [6, 1]),
        ("--to-offset=4", [4, 1]),
        ("--to-offset=0", [2, 0]),
        ("--to-timestamp=@5000", [4, 0]),
        ("--to-timestamp=1970-01-01T00:00:05.001Z", [5, 0]),
        ("--to-timestamp=@9001", [6, 1]),
        ("--shift-by=2", [5, 1]),
        ("--shift-by=-1", [2, 0]),
        ("--shift-by=-100", [2, 0]),
        ("--shift-by=0", [3, 1]),
    ],
)
def test_reset_to_each_target(
    quick: EmbeddedBroker, topic: str, group: str, where: str, there: list[int]
) -> None:
    shown = json.loads(reset(quick, group, where, "--json").out)
    assert [(one["partition"], one["committed"]) for one in shown] == [(0, 3), (1, 1)]
    assert [one["new"] for one in shown] == there
    assert committed(quick, group, topic, 3) == [3, 1, NOTHING]
    assert json.loads(reset(quick, group, where, "--json", "--execute").out) == shown
    assert committed(quick, group, topic, 3) == [*there, NOTHING]


def test_reset_without_execute_only_prints_the_plan(quick: EmbeddedBroker, topic: str, group: str) -> None:
    shown = reset(quick, group, "--to-offset=1").lines
    assert [line.split() for line in shown[:3]] == [
        ["topic", "partition", "committed", "new", "note"],
        [topic, "0", "3", "2", "1", "is", "before", "the", "start"],
        [topic, "1", "1", "1", "unchanged"],
    ]
    assert shown[3:] == [f"would reset 1 offset of group {group}; run again with --execute"]
    done = reset(quick, group, "--to-offset=1", "--execute").lines
    assert done[:3] == shown[:3]
    assert done[3:] == [f"reset 1 offset of group {group}"]
    again = reset(quick, group, "--to-offset=1", "--execute").lines
    assert again[3:] == [f"nothing to change in group {group}"]


def test_topic_option_resets_all_its_partitions(quick: EmbeddedBroker, topic: str, group: str) -> None:
    reset(quick, group, "--topic", topic, "--to-latest", "--execute")
    assert committed(quick, group, topic, 3) == [6, 1, 0]


def test_shift_without_a_committed_offset_changes_nothing(
    quick: EmbeddedBroker, topic: str, group: str
) -> None:
    shown = reset(quick, group, "--topic", topic, "--shift-by=1", "--execute").lines
    assert shown[3].split() == [topic, "2", "-", "-", "no", "committed", "offset", "to", "shift"]
    assert committed(quick, group, topic, 3) == [4, 1, NOTHING]


def test_timestamp_after_all_records_resets_to_the_end(quick: EmbeddedBroker, topic: str, group: str) -> None:
    shown = json.loads(reset(quick, group, "--to-timestamp=@8000", "--json").out)
    assert [(one["new"], one["note"]) for one in shown] == [(6, "no record is that recent"), (0, "")]


def test_partition_option_resets_only_those_partitions(quick: EmbeddedBroker, topic: str, group: str) -> None:
    other = new_topic(quick)
    reset(quick, group, "--topic", other, "--to-earliest", "--execute")
    reset(quick, group, "--topic", topic, "--partition=0", "--partition=2", "--to-latest", "--execute")
    assert committed(quick, group, topic, 3) == [6, 1, 0]
    shown = json.loads(reset(quick, group, "--to-earliest", "--json").out)
    assert [(one["topic"], one["partition"]) for one in shown] == sorted(
        [(topic, 0), (topic, 1), (topic, 2), (other, 0)]
    )


def test_reset_creates_the_group_for_a_named_topic(quick: EmbeddedBroker, topic: str) -> None:
    name = f"reset-{next(_numbers)}"
    assert committed(quick, name, topic, 3) == [NOTHING] * 3
    reset(quick, name, "--topic", topic, "--to-earliest", "--execute")
    assert committed(quick, name, topic, 3) == [2, 0, 0]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_reset_of_a_group_with_members_is_refused(quick: EmbeddedBroker, topic: str, protocol: str) -> None:
    name = f"reset-{next(_numbers)}"
    with member(quick, name, topic, 5, group_protocol=protocol):
        before = committed(quick, name, topic, 3)
        result = invoke(
            "groups", "reset-offsets", name, "--to-earliest", "--execute", bootstrap=quick.bootstrap
        )
        assert result.code == 1
        assert result.err == (
            f"dray: group '{name}' has 1 member (Stable): offsets can be reset only while the group is "
            "inactive; stop its consumers first\n"
        )
        assert committed(quick, name, topic, 3) == before
    reset(quick, name, "--to-earliest", "--execute")
    assert committed(quick, name, topic, 3)[:2] == [2, 0]


def test_commit_for_a_group_with_members_is_refused(quick: EmbeddedBroker, topic: str) -> None:
    admin = Admin.connect(ClientConfig(quick.bootstrap, 10))
    message = "it has members now; stop them first (UNKNOWN_MEMBER_ID)"
    with member(quick, "raced", topic, 5), pytest.raises(BrokerError, match=re.escape(message)):
        commit_offsets(admin, "raced", {topic: {0: 3}})


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            [],
            2,
            "name a target with one of --to-earliest, --to-latest, --to-offset, --to-timestamp, --shift-by",
        ),
        (["--to-earliest", "--shift-by=1"], 2, "name a target with one of"),
        (["--to-latest", "--partition=1"], 2, "--partition needs exactly one --topic"),
        (
            ["--to-latest", "--topic=a", "--topic=b", "--partition=1"],
            2,
            "--partition needs exactly one --topic",
        ),
        (["--to-timestamp=yesterday"], 2, "expected a time such as 2026-01-31T08:00Z, or @MILLISECONDS"),
        (["--to-timestamp=latest"], 2, "expected a time such as 2026-01-31T08:00Z, or @MILLISECONDS"),
        (["--to-offset=-1"], 2, "--to-offset"),
        (["--to-latest", "--topic=no-such-topic"], 1, "topic 'no-such-topic': there is no such topic"),
    ],
)
def test_invalid_reset_is_reported_in_one_line(
    quick: EmbeddedBroker, group: str, arguments: list[str], code: int, message: str
) -> None:
    result = invoke("groups", "reset-offsets", group, *arguments, bootstrap=quick.bootstrap)
    assert result.code == code
    assert message in result.err
    assert result.err.count("\n") == 1


def test_reset_of_unknown_partition_is_refused(quick: EmbeddedBroker, topic: str, group: str) -> None:
    result = invoke(
        "groups",
        "reset-offsets",
        group,
        "--to-latest",
        f"--topic={topic}",
        "--partition=3",
        bootstrap=quick.bootstrap,
    )
    assert result.code == 1
    assert result.err == f"dray: topic '{topic}' has no partition 3 (it has 0 to 2)\n"


def test_reset_without_committed_offsets_requires_a_topic(
    quick: EmbeddedBroker, group: str, topic: str
) -> None:
    invoke_ok("topics", "delete", topic, "--yes", kafka=quick)
    result = invoke("groups", "reset-offsets", group, "--to-latest", bootstrap=quick.bootstrap)
    assert result.code == 1
    assert result.err == f"dray: group '{group}' has no committed offsets; name the topics with --topic\n"
