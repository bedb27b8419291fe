"""Steps about the cluster: configs, ACLs, quotas, users."""

from collections.abc import Iterator
from typing import Final

from dray.wire import Message
from dray.wire.apis.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    EntryDataRequest,
    OpData,
)
from dray.wire.apis.alter_configs import AlterableConfig, AlterConfigsRequest, AlterConfigsResource
from dray.wire.apis.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from dray.wire.apis.api_versions import ApiVersionsRequest
from dray.wire.apis.create_acls import AclCreation, CreateAclsRequest
from dray.wire.apis.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from dray.wire.apis.describe_acls import DescribeAclsRequest
from dray.wire.apis.describe_client_quotas import ComponentData, DescribeClientQuotasRequest
from dray.wire.apis.describe_cluster import DescribeClusterRequest
from dray.wire.apis.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from dray.wire.apis.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from dray.wire.apis.describe_user_scram_credentials import DescribeUserScramCredentialsRequest, UserName
from dray.wire.apis.elect_leaders import ElectLeadersRequest, TopicPartitions
from dray.wire.apis.incremental_alter_configs import AlterableConfig as IncrementalConfig
from dray.wire.apis.incremental_alter_configs import AlterConfigsResource as IncrementalResource
from dray.wire.apis.incremental_alter_configs import IncrementalAlterConfigsRequest
from dray.wire.apis.list_config_resources import ListConfigResourcesRequest
from dray.wire.apis.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from dray.wire.apis.sasl_authenticate import SaslAuthenticateRequest
from dray.wire.apis.sasl_handshake import SaslHandshakeRequest
from tests.api.authorization.steps import Step
from tests.api.authorization.topics import ALL
from tests.api.authorization.world import PRESENT, World

_TOPIC, _BROKER, _LOGGER, _METRICS, _GROUP = 2, 4, 8, 16, 32
_KINDS: Final = {
    "topics": (_TOPIC, ALL, "retention.ms", "-1"),
    "groups": (_GROUP, (*PRESENT, "exact-missing"), "consumer.session.timeout.ms", "46000"),
    "brokers": (_BROKER, ("1",), "log.cleaner.threads", "1"),
    "broker loggers": (_LOGGER, ("1",), "kafka.server.KafkaApis", "INFO"),
    "client metrics": (_METRICS, ("exact",), "interval.ms", "1000"),
    "unknown things": (77, ("exact",), "x", "1"),
}


def _configs() -> Iterator[Step]:
    for what, (kind, names, key, value) in _KINDS.items():

        def described(_: World, version: int, kind: int = kind, names: tuple[str, ...] = names) -> Message:
            keys = ["cleanup.policy", "consumer.session.timeout.ms", "no.such.config"]
            resources = [
                DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=keys)
                for name in names
            ]
            return DescribeConfigsRequest(resources=resources)

        def altered(
            _: World,
            version: int,
            kind: int = kind,
            names: tuple[str, ...] = names,
            key: str = key,
            value: str = value,
        ) -> Message:
            config = AlterableConfig(name=key, value=value)
            resources = [
                AlterConfigsResource(resource_type=kind, resource_name=name, configs=[config])
                for name in names
            ]
            return AlterConfigsRequest(resources=resources, validate_only=True)

        def incremental(
            _: World,
            version: int,
            kind: int = kind,
            names: tuple[str, ...] = names,
            key: str = key,
            value: str = value,
        ) -> Message:
            config = IncrementalConfig(name=key, config_operation=0, value=value)
            resources = [
                IncrementalResource(resource_type=kind, resource_name=name, configs=[config])
                for name in names
            ]
            return IncrementalAlterConfigsRequest(resources=resources, validate_only=True)

        yield Step(DescribeConfigsRequest, what, described)
        yield Step(AlterConfigsRequest, what, altered)
        yield Step(IncrementalAlterConfigsRequest, what, incremental)


def _mixed(_: World, version: int) -> Message:
    """Make a request with resources of all types, one of them twice and one with an invalid value."""
    good = IncrementalConfig(name="retention.ms", config_operation=0, value="-1")
    bad = IncrementalConfig(name="retention.ms", config_operation=0, value="x")
    unknown = IncrementalConfig(name="no.such.config", config_operation=0, value="x")
    resources = [
        IncrementalResource(resource_type=_TOPIC, resource_name="exact", configs=[bad]),
        IncrementalResource(resource_type=_TOPIC, resource_name="pre-1", configs=[good, good]),
        IncrementalResource(resource_type=_TOPIC, resource_name="other", configs=[unknown]),
        IncrementalResource(resource_type=_TOPIC, resource_name="pre-denied", configs=[good]),
        IncrementalResource(resource_type=_TOPIC, resource_name="pre-denied", configs=[good]),
        IncrementalResource(resource_type=_BROKER, resource_name="", configs=[unknown]),
    ]
    return IncrementalAlterConfigsRequest(resources=resources, validate_only=True)


def _acls_of(version: int, principal: str = "User:no-ACL") -> Message:
    return DescribeAclsRequest(
        resource_type_filter=1,
        resource_name_filter=None,
        pattern_type_filter=1,
        principal_filter=principal,
        host_filter=None,
        operation=1,
        permission_type=1,
    )


def _created_acls(_: World, version: int) -> Message:
    acl = AclCreation(
        resource_type=2,
        resource_name="unused",
        resource_pattern_type=3,
        principal="User:unused",
        host="*",
        operation=3,
        permission_type=3,
    )
    invalid = AclCreation(
        resource_type=4,
        resource_name="unused",
        resource_pattern_type=3,
        principal="User:unused",
        host="*",
        operation=3,
        permission_type=3,
    )
    return CreateAclsRequest(creations=[acl, invalid])


def _deleted_acls(_: World, version: int) -> Message:
    return DeleteAclsRequest(
        filters=[
            DeleteAclsFilter(
                resource_type_filter=1,
                resource_name_filter="nothing",
                pattern_type_filter=1,
                principal_filter=principal,
                host_filter=None,
                operation=1,
                permission_type=1,
            )
            for principal in ("User:a", "User:b")
        ]
    )


def _quotas(_: World, version: int) -> Message:
    entry = EntryDataRequest(
        entity=[EntityData(entity_type="client-id", entity_name="unused")],
        ops=[OpData(key="consumer_byte_rate", value=1e9, remove=False)],
    )
    bad = EntryDataRequest(
        entity=[EntityData(entity_type="nothing", entity_name="unused")],
        ops=[OpData(key="consumer_byte_rate", value=1e9, remove=False)],
    )
    return AlterClientQuotasRequest(entries=[entry, bad], validate_only=True)


def _described_quotas(_: World, version: int, entity: str = "client-id") -> Message:
    component = ComponentData(entity_type=entity, match_type=0, match="unused")
    return DescribeClientQuotasRequest(components=[component], strict=True)


def _credentials(_: World, version: int) -> Message:
    upsertions = [
        ScramCredentialUpsertion(
            name=name, mechanism=1, iterations=iterations, salt=b"salt", salted_password=b"p" * 32
        )
        for name, iterations in (("unused", 4096), ("weak", 1))
    ]
    deletion = ScramCredentialDeletion(name="unknown", mechanism=1)
    return AlterUserScramCredentialsRequest(deletions=[deletion], upsertions=upsertions)


def _leaders(topics: tuple[str, ...] | None, version: int) -> Message:
    wanted = None if topics is None else [TopicPartitions(topic=name, partitions=[0]) for name in topics]
    return ElectLeadersRequest(election_type=0, topic_partitions=wanted, timeout_ms=30_000)


def _reassignments(topics: tuple[str, ...] | None) -> Message:
    wanted = (
        None
        if topics is None
        else [ListPartitionReassignmentsTopics(name=name, partition_indexes=[0]) for name in topics]
    )
    return ListPartitionReassignmentsRequest(timeout_ms=30_000, topics=wanted)


def _log_dirs(_: World, version: int) -> Message:
    topics = [DescribableLogDirTopic(topic=name, partitions=[0]) for name in ALL]
    return DescribeLogDirsRequest(topics=topics)


STEPS: Final = (
    *_configs(),
    Step(IncrementalAlterConfigsRequest, "several errors", _mixed),
    Step(DescribeAclsRequest, "of a user", lambda _, version: _acls_of(version)),
    Step(CreateAclsRequest, "one valid, one not", _created_acls),
    Step(DeleteAclsRequest, "that match nothing", _deleted_acls),
    Step(DescribeClientQuotasRequest, "of a client", _described_quotas),
    Step(
        DescribeClientQuotasRequest,
        "of nothing",
        lambda world, version: _described_quotas(world, version, "nothing"),
    ),
    Step(AlterClientQuotasRequest, "one valid, one not", _quotas),
    Step(
        DescribeUserScramCredentialsRequest,
        "of a user",
        lambda *_: DescribeUserScramCredentialsRequest(users=[UserName(name="unknown")]),
    ),
    Step(
        DescribeUserScramCredentialsRequest,
        "of a user named twice",
        lambda *_: DescribeUserScramCredentialsRequest(users=[UserName(name="unknown")] * 2),
    ),
    Step(AlterUserScramCredentialsRequest, "some", _credentials),
    Step(ElectLeadersRequest, "of some topics", lambda _, version: _leaders(ALL, version)),
    Step(ListPartitionReassignmentsRequest, "of some topics", lambda *_: _reassignments(ALL)),
    Step(ListPartitionReassignmentsRequest, "of all topics", lambda *_: _reassignments(None)),
    Step(DescribeLogDirsRequest, "of some topics", _log_dirs),
    Step(
        DescribeClusterRequest,
        "with operations",
        lambda *_: DescribeClusterRequest(include_cluster_authorized_operations=True),
    ),
    Step(DescribeClusterRequest, "without operations", lambda *_: DescribeClusterRequest()),
    Step(
        DescribeClusterRequest,
        "controllers",
        lambda *_: DescribeClusterRequest(endpoint_type=2),
        (1, 2),
    ),
    Step(ListConfigResourcesRequest, "client metrics", lambda *_: ListConfigResourcesRequest(), (0,)),
    Step(
        ListConfigResourcesRequest,
        "of topics",
        lambda *_: ListConfigResourcesRequest(resource_types=[_TOPIC]),
        (1,),
    ),
    Step(
        ApiVersionsRequest,
        "any",
        lambda *_: ApiVersionsRequest(client_software_name="x", client_software_version="1"),
    ),
    Step(SaslHandshakeRequest, "late", lambda *_: SaslHandshakeRequest(mechanism="PLAIN")),
    Step(SaslAuthenticateRequest, "late", lambda *_: SaslAuthenticateRequest(auth_bytes=b"x")),
)
