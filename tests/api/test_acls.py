"""APIs of ACLs: errors that Kafka does not have, and brokers that share ACLs.

Responses are compared with Kafka's in tests/oracle.
"""

from dray.cluster.settings import SecuritySettings
from dray.keyspace import CLUSTER_DOMAIN, acl_key
from dray.meta.port import Put
from dray.runtime import Tasks
from dray.wire import ErrorCode
from dray.wire.apis.create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from dray.wire.apis.delete_acls import DeleteAclsFilter, DeleteAclsRequest, DeleteAclsResponse
from dray.wire.apis.describe_acls import AclDescription, DescribeAclsRequest, DescribeAclsResponse
from tests.api.builders import Broker, Cluster, on_broker, on_cluster

SECURITY = SecuritySettings(authorizer_enable=True, super_users="User:ANONYMOUS")
EVERYTHING = DeleteAclsFilter(
    resource_type_filter=1,
    resource_name_filter=None,
    pattern_type_filter=1,
    principal_filter=None,
    host_filter=None,
    operation=1,
    permission_type=1,
)


def acl(name: str = "t", user: str = "User:a", operation: int = 3) -> AclCreation:
    return AclCreation(
        resource_type=2,
        resource_name=name,
        principal=user,
        host="*",
        operation=operation,
        permission_type=3,
    )


def may_read(user: str) -> AclDescription:
    return AclDescription(principal=user, host="*", operation=3, permission_type=3)


async def create(broker: Broker, *acls: AclCreation) -> list[tuple[int, str | None]]:
    response = await broker.ask(CreateAclsResponse, CreateAclsRequest(creations=list(acls)))
    return [(one.error_code, one.error_message) for one in response.results]


async def described(broker: Broker) -> dict[str, list[AclDescription]]:
    request = DescribeAclsRequest(
        resource_type_filter=1,
        resource_name_filter=None,
        pattern_type_filter=1,
        principal_filter=None,
        host_filter=None,
        operation=1,
        permission_type=1,
    )
    response = await broker.ask(DescribeAclsResponse, request)
    assert response.error_code == 0
    return {one.resource_name: one.acls for one in response.resources}


async def delete(broker: Broker, *filters: DeleteAclsFilter) -> list[tuple[int, str | None, int]]:
    response = await broker.ask(DeleteAclsResponse, DeleteAclsRequest(filters=list(filters)))
    return [(one.error_code, one.error_message, len(one.matching_acls)) for one in response.filter_results]


@on_cluster
async def test_acls_of_one_broker_are_described_by_another(cluster: Cluster) -> None:
    one, two = await cluster.broker(1, security=SECURITY), await cluster.broker(2, security=SECURITY)
    assert await create(one, acl(), acl("a"), acl(user="User:b")) == [(0, "")] * 3
    await cluster.settle()
    assert await described(two) == {
        "a": [may_read("User:a")],
        "t": [may_read("User:a"), may_read("User:b")],
    }
    assert await delete(two, EVERYTHING) == [(0, None, 3)]
    assert await described(two) == {}
    await cluster.settle()
    assert await described(one) == {}


@on_broker
async def test_security_is_disabled_without_an_authorizer(broker: Broker) -> None:
    assert await create(broker, acl(), acl("")) == [(54, "No Authorizer is configured.")] * 2
    assert await delete(broker, EVERYTHING) == [(54, "No Authorizer is configured.", 0)]
    response = await broker.ask(
        DescribeAclsResponse,
        DescribeAclsRequest(resource_type_filter=1, pattern_type_filter=1, operation=1, permission_type=1),
    )
    assert response.error_code == ErrorCode.SECURITY_DISABLED


@on_cluster
async def test_invalid_acl_does_not_prevent_the_others(cluster: Cluster) -> None:
    broker = await cluster.broker(security=SECURITY)
    refused = [acl("first"), acl(operation=1), acl("last")]
    assert await create(broker, *refused) == [(0, ""), (42, "Invalid operation ANY"), (0, "")]
    assert list(await described(broker)) == ["first", "last"]


@on_cluster
async def test_zero_closes_the_connection(cluster: Cluster) -> None:
    for broker in (await cluster.broker(1, security=SECURITY), await cluster.broker(2)):
        for request in (
            CreateAclsRequest(creations=[acl(), acl(operation=0)]),
            DescribeAclsRequest(resource_type_filter=1, operation=0),
            DeleteAclsRequest(filters=[DeleteAclsFilter(resource_type_filter=0)]),
        ):
            assert "an enum of an ACL is 0" in await broker.closing_reason(request)


@on_cluster
async def test_unavailable_store_is_an_error_of_changes_only(cluster: Cluster) -> None:
    broker = await cluster.broker(security=SECURITY)
    assert await create(broker, acl()) == [(0, "")]
    broker.link.unavailable = True
    (created, invalid) = await create(broker, acl("u"), acl(""))
    assert created[0] == ErrorCode.KAFKA_STORAGE_ERROR
    assert invalid == (42, "Invalid empty resource name")
    unknown = DeleteAclsFilter(resource_type_filter=99, operation=1, permission_type=1)
    stored, wrong = await delete(broker, EVERYTHING, unknown)
    assert stored[0] == ErrorCode.KAFKA_STORAGE_ERROR
    assert wrong == (42, "Unknown patternFilter.", 0)
    assert list(await described(broker)) == ["t"]


@on_cluster
async def test_corrupt_value_is_described_as_a_denial_and_not_overwritten(cluster: Cluster) -> None:
    meta = cluster.meta("writer", Tasks())
    key = acl_key("topic", "literal", "t")
    await meta.commit(CLUSTER_DOMAIN, [], [Put(key, b"?")])
    broker = await cluster.broker(security=SECURITY)
    denied = AclDescription(principal="User:*", host="*", operation=2, permission_type=2)
    assert await described(broker) == {"t": [denied]}
    ((code, message),) = await create(broker, acl())
    assert code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert message is not None
    assert message.startswith(f"cannot decode {key} as ACLs")
    assert await described(broker) == {"t": [denied]}
