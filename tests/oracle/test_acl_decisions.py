"""Decisions about groups compared with those of a real Kafka: the authorized operations in DescribeGroups.

The client is not authenticated and no super user. It may create ACLs because none is about the cluster.
"""

from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

from dray.acls import (
    EMPTY_INDEX,
    AclBinding,
    AclEntry,
    Authorizer,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
)
from dray.ids import ANONYMOUS
from dray.wire import ErrorCode
from dray.wire.apis.create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from dray.wire.apis.delete_acls import DeleteAclsFilter, DeleteAclsRequest, DeleteAclsResponse
from dray.wire.apis.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from dray.wire.apis.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from dray.wire.apis.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from tests.oracle import kafka
from tests.oracle.request_client import RequestClient, request_client
from tests.oracle.test_acls import KAFKA

SETTINGS: Final = KAFKA | {"super.users": "User:admin", "allow.everyone.if.no.acl.found": "true"}
GROUP: Final = ResourceType.GROUP
NAMES: Final = ("a", "ab", "abc", "b", "é/~", "*", "c")
UNLIKE_KAFKA: Final = "*a"
"""A name that Kafka's wildcard does not match."""
ROUNDS: Final = 40
_NO_ERROR_FOR_UNKNOWN_GROUPS: Final = 5
"""A version of DescribeGroups in which Kafka returns the operations also for groups that do not exist."""


def random_bindings(random: Random) -> list[AclBinding]:
    patterns = (PatternType.LITERAL, PatternType.PREFIXED)
    operations = [one for one in Operation if one is not Operation.ANY]
    usual = (Operation.DESCRIBE, Operation.READ, Operation.ALL, Operation.DELETE, Operation.ALTER_CONFIGS)
    return [
        AclBinding(
            ResourcePattern(GROUP, random.choice(NAMES[:-1]), random.choice(patterns)),
            AclEntry(
                random.choice(("User:ANONYMOUS", "User:*", "User:other")),
                random.choice(("*", "*", "127.0.0.1", "127.0.0.2")),
                random.choice((*usual, *usual, *operations)),
                random.choice((Permission.ALLOW, Permission.ALLOW, Permission.DENY)),
            ),
        )
        for _ in range(random.choice((1, 2, 3, 5, 8)))
    ]


def replace_acls(client: RequestClient, bindings: Iterable[AclBinding]) -> None:
    """Make these the only ACLs, and wait until the broker has them."""
    every: dict[str, Any] = {
        "resource_name_filter": None,
        "pattern_type_filter": 1,
        "principal_filter": None,
        "host_filter": None,
        "operation": 1,
        "permission_type": 1,
    }
    removal = DeleteAclsRequest(filters=[DeleteAclsFilter(resource_type_filter=GROUP, **every)])
    client.send(removal, DeleteAclsResponse)
    creations = [
        AclCreation(
            resource_type=one.pattern.resource_type,
            resource_name=one.pattern.name,
            resource_pattern_type=one.pattern.pattern_type,
            principal=one.entry.principal,
            host=one.entry.host,
            operation=one.entry.operation,
            permission_type=one.entry.permission,
        )
        for one in bindings
    ]
    created = client.send(CreateAclsRequest(creations=creations), CreateAclsResponse)
    assert {one.error_code for one in created.results} == {0}
    wanted = {
        (
            one.resource_name,
            one.resource_pattern_type,
            one.principal,
            one.host,
            one.operation,
            one.permission_type,
        )
        for one in creations
    }
    described = DescribeAclsRequest(resource_type_filter=GROUP, **every)
    while True:
        found = client.send(described, DescribeAclsResponse).resources
        if wanted == {
            (one.resource_name, one.pattern_type, acl.principal, acl.host, acl.operation, acl.permission_type)
            for one in found
            for acl in one.acls
        }:
            return


def await_coordinators(client: RequestClient) -> None:
    """Wait until the broker describes groups; Kafka first creates the topic of their offsets."""
    while True:
        client.send(FindCoordinatorRequest(coordinator_keys=list(NAMES)), FindCoordinatorResponse)
        request = DescribeGroupsRequest(groups=[*NAMES, UNLIKE_KAFKA])
        response = client.send(request, DescribeGroupsResponse, _NO_ERROR_FOR_UNKNOWN_GROUPS)
        if not any(one.error_code for one in response.groups):
            return


def authorized(client: RequestClient, names: Iterable[str]) -> dict[str, int | None]:
    """Return the operations that Kafka allows on each group; None where it does not describe the group."""
    request = DescribeGroupsRequest(groups=list(names), include_authorized_operations=True)
    response = client.send(request, DescribeGroupsResponse, _NO_ERROR_FOR_UNKNOWN_GROUPS)
    refused = ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert {one.error_code for one in response.groups} <= {0, refused}
    return {
        one.group_id: None if one.error_code == refused else one.authorized_operations
        for one in response.groups
    }


def decided(bindings: Iterable[AclBinding], names: Iterable[str]) -> dict[str, int | None]:
    entries: dict[ResourcePattern, list[AclEntry]] = {}
    for binding in bindings:
        entries.setdefault(binding.pattern, []).append(binding.entry)
    authorizer = Authorizer(EMPTY_INDEX.replaced(entries), frozenset(), allow_without_acls=True)
    who = ANONYMOUS, "127.0.0.1"
    return {
        name: authorizer.authorized_operations(*who, GROUP, name)
        if authorizer.decide(*who, Operation.DESCRIBE, GROUP, name).allowed
        else None
        for name in names
    }


@pytest.mark.real("java")
def test_decisions_are_those_of_kafka(tmp_path: Path) -> None:
    random = Random(1)
    with (
        kafka.serve(tmp_path / "kafka", SETTINGS) as theirs,
        request_client(theirs.address, 30) as client,
    ):
        await_coordinators(client)
        for _ in range(ROUNDS):
            bindings = random_bindings(random)
            replace_acls(client, bindings)
            assert authorized(client, NAMES) == decided(bindings, NAMES), bindings
        entry = AclEntry("User:*", "*", Operation.ALL, Permission.DENY)
        denial = [AclBinding(ResourcePattern(GROUP, "*"), entry)]
        replace_acls(client, denial)
        assert authorized(client, ["a", UNLIKE_KAFKA])["a"] is None
        assert authorized(client, [UNLIKE_KAFKA])[UNLIKE_KAFKA] is not None
        assert decided(denial, [UNLIKE_KAFKA])[UNLIKE_KAFKA] is None
