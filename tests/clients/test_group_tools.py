"""Apache Kafka's group tools: the same effect and output on the broker under test as on Kafka."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from tests.clients.commits import positions
from tests.clients.conftest import Programs
from tests.clients.journal import Journal
from tests.clients.members import Member
from tests.clients.pair import Pair, Side
from tests.clients.process import ClientProcess
from tests.clients.protocol import GroupProtocol, Join, Record
from tests.clients.records import hour_ago_ms
from tests.clients.registry import CLIENTS
from tests.clients.target import needs
from tests.clients.tool_host import ToolHost
from tests.oracle import tools
from tests.oracle.kafka import Kafka

pytestmark = needs("java")
FIRST_MS = hour_ago_ms()
JOIN_S = 30.0

both_protocols = pytest.mark.parametrize("protocol", ["classic", "consumer"])


@pytest.fixture(scope="session")
def pair(
    bootstrap: str, programs: Programs, apache_kafka: Kafka, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Pair]:
    folder = tmp_path_factory.mktemp("pair")
    kafkas, host = Programs(apache_kafka.bootstrap, folder), ToolHost(folder / "tools.log")
    yield Pair(Side(bootstrap, programs), Side(apache_kafka.bootstrap, kafkas), host)
    host.close()
    kafkas.close()


@pytest.fixture
def ten(pair: Pair, topic: str) -> str:
    """Create a topic of one partition with ten records, a second apart."""
    pair.create(topic, [Record(value=b"%d" % n, timestamp=FIRST_MS + n * 1000) for n in range(10)])
    return topic


@pytest.fixture
def group(topic: str) -> str:
    return f"group-of-{topic}"


@pytest.fixture
def join(pair: Pair, ten: str, group: str, tmp_path: Path) -> Iterator[Callable[[GroupProtocol], None]]:
    """Let a member join at each broker and wait until they have read and committed all records."""
    with ExitStack() as running:

        def begin(protocol: GroupProtocol) -> None:
            journals = [Journal(), Journal()]
            for side, journal in zip(pair.sides, journals, strict=True):
                log = tmp_path / f"{side.bootstrap}.log"
                program = ClientProcess(CLIENTS["librdkafka"].command(side.bootstrap), log)
                running.callback(Member("the one", program, Join(ten, group, protocol), journal).close)
            assert all(journal.wait(partial(has_all, journal), JOIN_S) for journal in journals)

        yield begin


def has_all(journal: Journal) -> bool:
    return journal.positions == {0: 10}


@both_protocols
def test_console_reads_with_a_group(pair: Pair, ten: str, group: str, protocol: str) -> None:
    chosen = ("--command-property", f"group.protocol={protocol}")
    asked = ("--topic", ten, "--group", group, "--from-beginning", "--max-messages", "10", *chosen)
    assert pair.run(tools.console_consumer, *asked).lines == [str(number) for number in range(10)]
    assert positions(pair.dray.bootstrap, group) == {0: 10}

    described = pair.consumer_groups("--describe", "--group", group)
    assert described.lines[-1].split() == [group, ten, "0", "10", "10", "0", "-", "-", "-"]
    assert f"Consumer group '{group}' has no active members." in described.stderr
    state = pair.consumer_groups("--describe", "--group", group, "--state")
    assert state.lines[-1].split()[-2:] == ["Empty", "0"]
    pair.consumer_groups("--describe", "--group", group, "--members", "--verbose")
    kind = protocol.capitalize()
    assert pair.line(tools.groups, "--list", about=group) == [group, kind, "consumer"]


def test_groups_are_listed(pair: Pair, ten: str, group: str) -> None:
    """Groups that have only offsets."""
    pair.commit(group, ten, 3)
    assert pair.line(tools.consumer_groups, "--list", about=group) == [group]
    assert pair.line(pair.host.consumer_groups, "--list", "--state", about=group) == [group, "Empty"]
    assert pair.line(pair.host.consumer_groups, "--list", "--state", "stable", about=group) == []
    assert pair.line(pair.host.consumer_groups, "--list", "--type", about=group) == [group, "Classic"]
    assert pair.line(tools.groups, "--list", "--consumer", about=group) == [group, "Classic"]


@both_protocols
def test_group_with_members_is_described(
    pair: Pair,
    join: Callable[[GroupProtocol], None],
    ten: str,
    group: str,
    protocol: GroupProtocol,
) -> None:
    join(protocol)
    describe = ("--describe", "--group", group)
    *_, offsets = pair.consumer_groups(*describe, "--offsets", "--verbose").lines
    assert offsets.split()[:7] == [group, ten, "0", "-", "10", "10", "0"]
    assert offsets.split()[8:] == ["/127.0.0.1", "rdkafka"]

    *_, members = pair.consumer_groups(*describe, "--members", "--verbose").lines
    epoch, target = ("2", f"{ten}:0") if protocol == "consumer" else ("-", "-")
    assert members.split()[2:] == ["/127.0.0.1", "rdkafka", "1", epoch, f"{ten}:0", epoch, target]

    *_, state = pair.consumer_groups(*describe, "--state", "--verbose").lines
    assignor = "uniform" if protocol == "consumer" else "range"
    assert state.split() == [group, pair.dray.bootstrap, "(1)", assignor, "Stable", epoch, epoch, "1"]


@both_protocols
def test_group_with_members_keeps_its_offsets(
    pair: Pair,
    join: Callable[[GroupProtocol], None],
    ten: str,
    group: str,
    protocol: GroupProtocol,
) -> None:
    join(protocol)
    of_topic = ("--group", group, "--topic", ten)
    reset = pair.consumer_groups("--reset-offsets", *of_topic, "--to-earliest", "--execute")
    assert f"the group '{group}' is inactive, but the current state is Stable" in reset.stdout
    assert "GroupNotEmptyException" in pair.consumer_groups("--delete", "--group", group).stdout
    deleted = pair.consumer_groups("--delete-offsets", *of_topic)
    assert "GroupSubscribedToTopicException" in deleted.stdout
    assert positions(pair.dray.bootstrap, group) == {0: 10}


@pytest.mark.parametrize(
    ("way", "offset"),
    [
        ("--to-earliest", 0),
        ("--to-latest", 10),
        ("--to-current", 5),
        ("--to-offset 7", 7),
        ("--to-offset 70", 10),
        ("--shift-by -3", 2),
        ("--by-duration PT2H", 0),
    ],
)
def test_offsets_are_reset(pair: Pair, ten: str, group: str, way: str, offset: int) -> None:
    pair.commit(group, ten, 5)
    asked = ("--reset-offsets", "--group", group, "--topic", ten, *way.split())
    described = pair.consumer_groups(*asked, "--execute")
    assert described.lines[-1].split() == [group, ten, "0", str(offset)]
    assert positions(pair.dray.bootstrap, group) == {0: offset}


def test_offsets_are_reset_to_a_time(pair: Pair, ten: str, group: str) -> None:
    pair.commit(group, ten, 5)
    time = datetime.fromtimestamp(FIRST_MS / 1000 + 2.5, UTC).isoformat(timespec="milliseconds")
    asked = ("--reset-offsets", "--group", group, "--all-topics", "--to-datetime", time)
    assert pair.consumer_groups(*asked, "--execute").lines[-1].split() == [group, ten, "0", "3"]
    assert positions(pair.dray.bootstrap, group) == {0: 3}


def test_offsets_are_reset_from_a_file(pair: Pair, ten: str, group: str, tmp_path: Path) -> None:
    """A dry run exports the file and changes nothing."""
    pair.commit(group, ten, 5)
    reset = ("--reset-offsets", "--group", group)
    tried = pair.consumer_groups(*reset, "--topic", ten, "--shift-by", "3", "--dry-run", "--export")
    assert positions(pair.dray.bootstrap, group) == {0: 5}
    plan = tmp_path / "plan.csv"
    plan.write_text(tried.stdout.strip() + "\n")
    pair.consumer_groups(*reset, "--from-file", str(plan), "--execute")
    assert positions(pair.dray.bootstrap, group) == {0: 8}


def test_offsets_and_groups_are_deleted(pair: Pair, ten: str, group: str) -> None:
    pair.commit(group, ten, 5)
    deleted = pair.consumer_groups("--delete-offsets", "--group", group, "--topic", ten)
    assert deleted.lines[-1].split() == [ten, "0", "Successful"]
    assert positions(pair.dray.bootstrap, group) == {}

    pair.commit(group, ten, 5)
    deleted = pair.consumer_groups("--delete", "--group", group)
    assert deleted.lines == [f"Deletion of requested consumer groups ('{group}') was successful."]
    gone = pair.consumer_groups("--delete", "--group", group)
    assert "GroupIdNotFoundException" in gone.stdout
    gone = pair.consumer_groups("--describe", "--group", group)
    assert f"Group {group} not found." in gone.stdout


def test_consumer_perf_completes(pair: Pair, ten: str) -> None:
    names, figures = (line.split(", ") for line in tools.consumer_perf(pair.dray.bootstrap, *perf(ten)).lines)
    measured = dict(zip(names, figures, strict=True))
    assert measured["data.consumed.in.nMsg"] == "10"


def perf(topic: str) -> tuple[str, ...]:
    return "--topic", topic, "--num-records", "10", "--timeout", "30000"


@both_protocols
def test_verifiable_consumer_completes(pair: Pair, ten: str, group: str, protocol: str) -> None:
    asked = ("--topic", ten, "--group-id", group, "--group-protocol", protocol, "--max-messages", "10")
    ran = pair.compare(tools.verifiable_consumer, *asked, of=events)
    by_name = {event["name"]: event for event in events(ran, "")}
    assert by_name["records_consumed"]["count"] == 10
    assert by_name["offsets_committed"]["offsets"] == [{"topic": ten, "partition": 0, "offset": 10}]
    assert by_name["offsets_committed"]["success"]
    assert positions(pair.dray.bootstrap, group) == {0: 10}


def events(ran: tools.Ran, _bootstrap: str) -> list[dict[str, object]]:
    """Return the events of the verifiable consumer without times; the order of the last two varies."""
    found = [json.loads(line) for line in ran.lines]
    timeless = [{name: value for name, value in event.items() if name != "timestamp"} for event in found]
    return timeless[:-2] + sorted(timeless[-2:], key=lambda event: str(event["name"]))
