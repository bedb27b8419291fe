"""Broker under test and Apache Kafka side by side: equal tool calls give equal output."""

import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from confluent_kafka import TopicPartition

from tests.clients.commits import commit
from tests.clients.conftest import Programs
from tests.clients.protocol import Record
from tests.clients.tool_host import ToolHost
from tests.oracle.tools import Ran

Tool = Callable[..., Ran]
_MEMBER_ID: Final = re.compile(r"(.+-)?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[\w+/-]{22}")


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two brokers, and its clients."""

    bootstrap: str
    programs: Programs


@dataclass(frozen=True, slots=True)
class Pair:
    dray: Side
    kafka: Side
    host: ToolHost

    @property
    def sides(self) -> tuple[Side, Side]:
        return self.dray, self.kafka

    def create(self, topic: str, records: Sequence[Record]) -> None:
        for side in self.sides:
            side.programs["librdkafka"].create_topic(topic)
            side.programs["librdkafka"].produce(topic, records)

    def commit(self, group: str, topic: str, offset: int) -> None:
        """Commit for a group without members, in partition 0."""
        for side in self.sides:
            commit(side.bootstrap, group, TopicPartition(topic, 0, offset))

    def consumer_groups(self, *arguments: str) -> Ran:
        return self.run(self.host.consumer_groups, *arguments)

    def run(self, tool: Tool, *arguments: str) -> Ran:
        """Run the tool on both brokers, check that its output is equal, and return it."""
        return self.compare(tool, *arguments, of=said)

    def line(self, tool: Tool, *arguments: str, about: str) -> list[str]:
        """Return the words of one group's line: a tool lists all groups, and each broker has others."""

        def words(ran: Ran, _bootstrap: str) -> list[str]:
            return [word for line in ran.lines if about in line.split() for word in line.split()]

        return words(self.compare(tool, *arguments, of=words), "")

    def compare(self, tool: Tool, *arguments: str, of: Callable[[Ran, str], object]) -> Ran:
        with ThreadPoolExecutor(2) as at_once:
            ours, kafkas = at_once.map(lambda side: tool(side.bootstrap, *arguments), self.sides)
        here, there = of(ours, self.dray.bootstrap), of(kafkas, self.kafka.bootstrap)
        assert here == there, f"here: {here}\nKafka: {there}"
        return ours


def said(ran: Ran, bootstrap: str) -> tuple[int, list[list[str]]]:
    """Return the exit code and the words of each line, without values specific to one broker.

    Lines are sorted, since some tools have no order; stack traces are omitted.
    """
    lines = f"{ran.stdout}\n{ran.stderr}".replace(bootstrap, "BROKER").splitlines()
    words = [["ID" if _MEMBER_ID.fullmatch(word) else word for word in line.split()] for line in lines]
    return ran.code, sorted(line for line in words if line and line[0] != "at")
