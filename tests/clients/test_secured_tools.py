"""Apache Kafka's tools with `--command-config` over SASL_SSL: the same output as on Kafka.

An administrator makes users with passwords, quotas and ACLs; the tools are then used by such a user.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

import pytest

from tests.clients.pair import said
from tests.clients.secured import ADMIN, SecuredBroker, secured_dray, secured_kafka
from tests.clients.security import Mechanism
from tests.clients.target import EXTERNAL, needs
from tests.clients.tool_host import ToolHost
from tests.oracle.tools import Ran

pytestmark = [
    pytest.mark.slow,
    *needs("java"),
    pytest.mark.skipif(bool(EXTERNAL), reason="these tests configure brokers of their own"),
]

TOPICS: Final = "org.apache.kafka.tools.TopicCommand"
CONFIGS: Final = "kafka.admin.ConfigCommand"
ACLS: Final = "org.apache.kafka.tools.AclCommand"
GROUPS: Final = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
CAROL: Final = ("--entity-type", "users", "--entity-name", "carol")
_MESSAGE: Final = re.compile(r"(ClusterAuthorizationException): .*")
_NUMBER: Final = re.compile(r"(?<=adminclient)-\d+")
_OF_KAFKAS_CLUSTER: Final = "min.insync.replicas=1"
"""A config that Kafka sets for the cluster when its storage is formatted (KIP-966)."""
QUOTAS: Final = "producer_byte_rate=1048576,consumer_byte_rate=2097152"


@dataclass(frozen=True, slots=True)
class Tools:
    """Both brokers, and the JVM that runs the tools."""

    dray: SecuredBroker
    kafka: SecuredBroker
    host: ToolHost

    def run(self, main: str, *arguments: str, user: str = ADMIN, password: str | None = None) -> Ran:
        """Run a tool as a user on both brokers, check that its output is equal, and return it."""
        ours, theirs = (self._run(side, main, arguments, user, password) for side in (self.dray, self.kafka))
        here = unordered(ours, self.dray.listeners["SASL_SSL"])
        there = unordered(theirs, self.kafka.listeners["SASL_SSL"])
        assert here == there, f"{main} {arguments}\nhere: {here}\nKafka: {there}"
        return ours

    def _run(
        self, side: SecuredBroker, main: str, arguments: tuple[str, ...], user: str, password: str | None
    ) -> Ran:
        mechanism: Mechanism = "SCRAM-SHA-512"
        login = side.secrets.with_password(mechanism, user, password)
        file = login.properties(side.secrets.folder / f"{user}.properties")
        return self.host.run(main, side.listeners["SASL_SSL"], "--command-config", str(file), *arguments)


def unordered(ran: Ran, bootstrap: str) -> tuple[int, list[list[str]]]:
    """Return the exit code and the words of each line: lists have no order.

    What follows the name of an exception differs: Kafka's has the request as its Java object prints it.
    """
    short = (_NUMBER.sub("", _MESSAGE.sub(r"\1", text)) for text in (ran.stdout, ran.stderr))
    code, lines = said(Ran(ran.code, *short), bootstrap)
    words = ((word.rstrip(",") for word in line) for line in lines)
    return code, [sorted(word for word in line if word != _OF_KAFKAS_CLUSTER) for line in words]


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tools]:
    folder = tmp_path_factory.mktemp("secured-tools")
    with ExitStack() as running:
        dray = running.enter_context(secured_dray(folder / "dray"))
        kafka = running.enter_context(secured_kafka(folder / "kafka"))
        host = ToolHost(folder / "tools.log")
        running.callback(host.close)
        yield Tools(dray, kafka, host)


@pytest.fixture
def carol(tools: Tools) -> Iterator[Callable[..., Ran]]:
    """Create a user with the tool, and return what runs tools as this user."""
    credential = "SCRAM-SHA-512=[iterations=8192,password=of carol]"
    created = tools.run(CONFIGS, "--alter", *CAROL, "--add-config", credential)
    assert created.lines == ["Completed updating config for user carol."]
    yield lambda *arguments: tools.run(*arguments, user="carol", password="of carol")
    tools.run(CONFIGS, "--alter", *CAROL, "--delete-config", "SCRAM-SHA-512")


def test_user_of_kafka_configs_logs_in_until_it_is_deleted(tools: Tools, carol: Callable[..., Ran]) -> None:
    described = tools.run(CONFIGS, "--describe", *CAROL)
    assert "'carol' are SCRAM-SHA-512=iterations=8192" in described.stdout
    assert carol(TOPICS, "--list").stdout.split() == []
    wrong = tools.run(TOPICS, "--list", user="carol", password="guessed")
    assert wrong.code == 1
    assert "SaslAuthenticationException" in wrong.stdout + wrong.stderr
    changed = "SCRAM-SHA-512=[password=another]"
    assert tools.run(CONFIGS, "--alter", *CAROL, "--add-config", changed).code == 0
    assert carol(TOPICS, "--list").code == 1
    assert tools.run(TOPICS, "--list", user="carol", password="another").code == 0
    assert tools.run(CONFIGS, "--alter", *CAROL, "--delete-config", "SCRAM-SHA-512").code == 0
    assert tools.run(TOPICS, "--list", user="carol", password="another").code == 1
    assert tools.run(CONFIGS, "--alter", *CAROL, "--add-config", changed).code == 0


def test_quotas_of_users_and_clients_are_set_described_and_deleted(tools: Tools) -> None:
    client = ("--entity-type", "clients", "--entity-name", "an app")
    default = ("--entity-type", "users", "--entity-default")
    for entity in (CAROL, (*CAROL, *client), client, default):
        assert tools.run(CONFIGS, "--alter", *entity, "--add-config", QUOTAS).code == 0
        assert "producer_byte_rate=1048576" in tools.run(CONFIGS, "--describe", *entity).stdout
    assert "the default user-principal" in tools.run(CONFIGS, "--describe", "--entity-type", "users").stdout
    for entity in (CAROL, (*CAROL, *client), client, default):
        assert tools.run(CONFIGS, "--alter", *entity, "--delete-config", "consumer_byte_rate").code == 0
        assert "consumer_byte_rate" not in tools.run(CONFIGS, "--describe", *entity).stdout
        assert tools.run(CONFIGS, "--alter", *entity, "--delete-config", "producer_byte_rate").code == 0


def test_user_needs_acls_of_kafka_acls(tools: Tools, carol: Callable[..., Ran]) -> None:
    topic = ("--topic", "of-carol")
    refused = carol(TOPICS, "--create", *topic)
    assert refused.code == 1
    assert "TopicAuthorizationException" in refused.stdout + refused.stderr
    assert carol(ACLS, "--list").code == 1
    allowed = ("--allow-principal", "User:carol", *topic)
    for operation in ("Create", "Describe", "DescribeConfigs", "Alter"):
        assert tools.run(ACLS, "--add", *allowed, "--operation", operation).code == 0
    assert "operation=ALTER" in tools.run(ACLS, "--list", *topic).stdout
    assert carol(TOPICS, "--create", *topic, "--partitions", "2").lines == ["Created topic of-carol."]
    assert carol(TOPICS, "--alter", *topic, "--partitions", "3").lines == []
    assert len(carol(TOPICS, "--describe", *topic).lines) == 4
    assert carol(TOPICS, "--list").lines == ["of-carol"]
    assert carol(TOPICS, "--delete", *topic).code == 1
    assert tools.run(ACLS, "--remove", "--force", *allowed, "--operation", "Describe").code == 0
    assert tools.run(TOPICS, "--delete", *topic).lines == []


def test_groups_are_described_and_reset_by_those_who_may(tools: Tools, carol: Callable[..., Ran]) -> None:
    group, topic = ("--group", "of carol"), ("--topic", "read-by-carol")
    assert tools.run(TOPICS, "--create", *topic).code == 0
    reset = ("--reset-offsets", *group, *topic, "--to-earliest", "--execute")
    assert "authorization failure" in carol(GROUPS, *reset).stderr
    rights = ("--add", "--allow-principal", "User:carol", "--consumer", *group, *topic)
    assert tools.run(ACLS, *rights).code == 0
    assert carol(GROUPS, *reset).code == 0
    assert carol(GROUPS, "--list").lines == ["of carol"]
    assert "read-by-carol" in carol(GROUPS, "--describe", *group).stdout
    assert "Group authorization failed" in carol(GROUPS, "--delete", *group).stdout
    assert tools.run(GROUPS, "--delete", *group).code == 0
    assert tools.run(TOPICS, "--delete", *topic).code == 0
