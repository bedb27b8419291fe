"""Apache Kafka's tool for ACLs on a broker with an authorizer, and on Kafka: the same output."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dray.testing import broker
from tests.clients.target import needs
from tests.oracle import kafka, tools
from tests.oracle.test_acls import DRAY, KAFKA

pytestmark = needs("java")

ORDERS = "ResourcePattern(resourceType=TOPIC, name=orders, patternType=LITERAL)"
PREFIX = "ResourcePattern(resourceType=TOPIC, name=ord, patternType=PREFIXED)"
READERS = "ResourcePattern(resourceType=GROUP, name=readers, patternType=LITERAL)"
CLUSTER = "ResourcePattern(resourceType=CLUSTER, name=kafka-cluster, patternType=LITERAL)"
ALICE = "(principal=User:alice, host=*, operation={}, permissionType=ALLOW)"
BOB = "(principal=User:bob, host=10.0.0.1, operation=WRITE, permissionType=DENY)"


@pytest.fixture(params=["dray", "kafka"])
def authorized(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A broker with an authorizer and without ACLs."""
    if request.param == "dray":
        with broker(DRAY) as ours:
            yield ours.bootstrap
        return
    with kafka.serve(tmp_path / "kafka", KAFKA) as theirs:
        yield theirs.bootstrap


def listed(bootstrap: str, *arguments: str) -> dict[str, set[str]]:
    """Return what the tool lists: the entries of each resource."""
    found: dict[str, set[str]] = {}
    resource = ""
    for line in tools.acls(bootstrap, "--list", *arguments).lines:
        if "`ResourcePattern" in line:
            resource = line.split("`")[1]
        elif line.startswith("\t"):
            found.setdefault(resource, set()).add(line.strip())
    return found


def test_acls_are_added_listed_and_removed(authorized: str) -> None:
    consumer = ("--consumer", "--topic", "orders", "--group", "readers")
    added = tools.acls(authorized, "--add", "--allow-principal", "User:alice", *consumer)
    assert f"Adding ACLs for resource `{ORDERS}`: " in added.lines
    idempotent = ("--cluster", "--operation", "IdempotentWrite")
    assert tools.acls(authorized, "--add", "--allow-principal", "User:alice", *idempotent).code == 0
    prefixed = ("--topic", "ord", "--resource-pattern-type", "prefixed")
    denied = ("--deny-principal", "User:bob", "--deny-host", "10.0.0.1", "--operation", "Write", *prefixed)
    assert tools.acls(authorized, "--add", *denied).code == 0

    of_orders = {ALICE.format("READ"), ALICE.format("DESCRIBE")}
    assert listed(authorized) == {
        ORDERS: of_orders,
        READERS: {ALICE.format("READ")},
        CLUSTER: {ALICE.format("IDEMPOTENT_WRITE")},
        PREFIX: {BOB},
    }
    matching = ("--topic", "orders", "--resource-pattern-type", "match")
    assert listed(authorized, *matching) == {ORDERS: of_orders, PREFIX: {BOB}}
    assert listed(authorized, "--topic", "order") == {}

    one = ("--allow-principal", "User:alice", "--operation", "Read", "--topic", "orders")
    assert tools.acls(authorized, "--remove", "--force", *one).code == 0
    assert tools.acls(authorized, "--remove", "--force", *prefixed).code == 0
    assert listed(authorized, *matching) == {ORDERS: {ALICE.format("DESCRIBE")}}


def test_tool_reports_that_there_is_no_authorizer(bootstrap: str) -> None:
    refused = tools.acls(bootstrap, "--list")
    assert refused.code == 1
    assert "No Authorizer is configured" in refused.stdout + refused.stderr
