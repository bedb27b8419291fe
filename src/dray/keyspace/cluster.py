"""Keys shared by the whole cluster: identity, brokers, topics, configs, ACLs, compaction state by topic."""

from collections.abc import Sequence
from typing import Final
from urllib.parse import unquote
from uuid import UUID

from dray.ids import Domain
from dray.keyspace.families import ROOT, KeyFamily, Scope, children
from dray.keyspace.groups import group_name

CLUSTER_DOMAIN: Final = Domain("cluster")
CLUSTER_KEY: Final = f"{ROOT}/cluster"
BROKERS_PREFIX: Final = f"{ROOT}/brokers/"
_BROKER_IDS: Final = f"{ROOT}/broker-ids/"
TOPICS_PREFIX: Final = f"{ROOT}/topics/"
GROUP_CONFIGS_PREFIX: Final = f"{ROOT}/group-configs/"
CLIENT_QUOTAS_PREFIX: Final = f"{ROOT}/client-quotas/"
ACLS_PREFIX: Final = f"{ROOT}/acls/"
USERS_PREFIX: Final = f"{ROOT}/users/"
SCRAM_SECRET_KEY: Final = f"{ROOT}/scram-secret"
PRODUCER_IDS_KEY: Final = f"{ROOT}/producer-ids"
_DELETED_TOPICS: Final = f"{ROOT}/deleted-topics/"
_NEW_STREAMS: Final = f"{ROOT}/new-streams/"
_FAILURES: Final = f"{ROOT}/compaction/failures/"
_REBUILDS: Final = f"{ROOT}/compaction/rebuilds/"
_DIFFERENCES: Final = f"{ROOT}/compaction/differences/"
_DROPPED_TABLES: Final = f"{ROOT}/compaction/dropped-tables/"

FAMILIES: Final = (
    KeyFamily(
        "cluster",
        Scope.CLUSTER,
        ("ClusterRecord",),
        writer="cluster, when the cluster is created",
        meaning="The identity of the cluster: its id, its number of meta domains, the format of the store.",
    ),
    KeyFamily(
        "restore/cluster",
        Scope.CLUSTER,
        ("RestoreMarker",),
        writer="backup, while the store is restored; brokers refuse such a store",
        meaning="A restore that is not complete. Removed last, in the commit that writes the cluster record.",
    ),
    KeyFamily(
        "brokers/<broker id>",
        Scope.CLUSTER,
        ("BrokerInfo",),
        writer="cluster, when a broker registers",
        meaning="A live broker. Ephemeral: it disappears with the broker's session.",
    ),
    KeyFamily(
        "broker-ids/<broker id>",
        Scope.CLUSTER,
        ("BrokerIdClaim",),
        writer="cluster, when a broker starts at a new address",
        meaning="The address that a broker id belongs to. It stays when the broker stops.",
    ),
    KeyFamily(
        "topics/<topic>",
        Scope.CLUSTER,
        ("Topic",),
        writer="cluster, when a topic is created or changed",
        meaning="A topic: its id, its streams and its configs.",
    ),
    KeyFamily(
        "deleted-topics/<topic id>",
        Scope.CLUSTER,
        ("DeletedTopic",),
        writer="cluster, when a topic is deleted",
        meaning="The streams of a deleted topic that are still to be removed.",
    ),
    KeyFamily(
        "new-streams/<id>",
        Scope.CLUSTER,
        ("NewStreams",),
        writer="cluster, before streams are created; deleted by the commit that adds them to their topic",
        meaning="Streams that no topic has yet. The sweep removes those of a creation that did not finish.",
    ),
    KeyFamily(
        "group-configs/<group>",
        Scope.CLUSTER,
        ("StoredGroupConfigs",),
        writer="cluster, on IncrementalAlterConfigs of a group",
        meaning="The configs of a group, which need not exist. The group's name is percent-encoded.",
    ),
    KeyFamily(
        "client-quotas/<entity>",
        Scope.CLUSTER,
        ("StoredQuotas",),
        writer="cluster, on AlterClientQuotas",
        meaning="The quotas of an entity: a user, a client id, both, or an IP address. The entity is written "
        "`type=name`, joined by `&`, with names percent-encoded; a default has no `=name`.",
    ),
    KeyFamily(
        "acls/<pattern>",
        Scope.CLUSTER,
        ("StoredAcls",),
        writer="cluster, on CreateAcls and DeleteAcls",
        meaning="The ACLs of a resource pattern, such as `topic-literal-orders` or `group-prefixed-a`. The "
        "pattern's name is percent-encoded.",
    ),
    KeyFamily(
        "users/<name>",
        Scope.CLUSTER,
        ("StoredUser",),
        writer="cluster, on AlterUserScramCredentials",
        meaning="The SCRAM credentials of a user. The name is percent-encoded.",
    ),
    KeyFamily(
        "scram-secret",
        Scope.CLUSTER,
        (),
        writer="the first broker that authenticates clients",
        meaning="The secret from which the salts of unknown users are derived.",
        raw="32 random bytes",
    ),
    KeyFamily(
        "producer-ids",
        Scope.CLUSTER,
        ("NextProducerId",),
        writer="cluster, when a broker takes a block of producer ids",
        meaning="The first producer id that is not allocated.",
    ),
    KeyFamily(
        "compaction/leases/<topic id>",
        Scope.CLUSTER,
        (),
        writer="compaction, for the time of a round",
        meaning="The compactor that works on a topic. Ephemeral: it disappears with the compactor's session.",
        raw="the compactor's name in UTF-8",
    ),
    KeyFamily(
        "compaction/failures/<topic id>",
        Scope.CLUSTER,
        ("TopicFailure",),
        writer="compaction, after a failed round",
        meaning="Why a topic is not compacted.",
    ),
    KeyFamily(
        "compaction/differences/<topic id>",
        Scope.CLUSTER,
        ("Difference",),
        writer="maintenance, after a table audit",
        meaning="The offset ranges in which a table differs from the index.",
        raw="array of",
    ),
    KeyFamily(
        "compaction/rebuilds/<topic id>",
        Scope.CLUSTER,
        ("Rebuild",),
        writer="maintenance, while a dropped table is rebuilt",
        meaning="A table that is being rebuilt from the index.",
    ),
    KeyFamily(
        "compaction/dropped-tables/<table>",
        Scope.CLUSTER,
        ("Dropped",),
        writer="maintenance, when the table of a deleted topic is dropped",
        meaning="The folder of a dropped table whose files are still to be deleted.",
    ),
)


def broker_key(broker_id: int) -> str:
    return f"{BROKERS_PREFIX}{broker_id}"


def brokers_range() -> tuple[str, str]:
    return children(BROKERS_PREFIX)


def broker_id_key(broker_id: int) -> str:
    return f"{_BROKER_IDS}{broker_id}"


def broker_ids_range() -> tuple[str, str]:
    return children(_BROKER_IDS)


def topic_key(name: str) -> str:
    return f"{TOPICS_PREFIX}{name}"


def topics_range() -> tuple[str, str]:
    return children(TOPICS_PREFIX)


def deleted_topic_key(topic_id: UUID) -> str:
    return f"{_DELETED_TOPICS}{topic_id.hex}"


def deleted_topics_range() -> tuple[str, str]:
    return children(_DELETED_TOPICS)


def new_streams_key(creation: UUID) -> str:
    return f"{_NEW_STREAMS}{creation.hex}"


def creation_of_key(key: str) -> UUID:
    """Return the id of a creation that has a key among `new_streams_range`."""
    return UUID(hex=key.removeprefix(_NEW_STREAMS))


def new_streams_range() -> tuple[str, str]:
    return children(_NEW_STREAMS)


def group_configs_key(group_id: str) -> str:
    return f"{GROUP_CONFIGS_PREFIX}{group_name(group_id)}"


def group_configs_range() -> tuple[str, str]:
    return children(GROUP_CONFIGS_PREFIX)


def client_quotas_key(entity: Sequence[tuple[str, str | None]]) -> str:
    """Return the key of an entity by its types and names, sorted by type; None is the default of a type."""
    parts = [kind if name is None else f"{kind}={group_name(name)}" for kind, name in entity]
    return CLIENT_QUOTAS_PREFIX + "&".join(parts)


def client_quotas_range() -> tuple[str, str]:
    return children(CLIENT_QUOTAS_PREFIX)


def acl_key(resource_type: str, pattern_type: str, name: str) -> str:
    return f"{ACLS_PREFIX}{resource_type}-{pattern_type}-{group_name(name)}"


def acl_key_parts(key: str) -> tuple[str, str, str]:
    """Return the resource type, the pattern type and the name that the key was built from."""
    resource_type, _, rest = key.removeprefix(ACLS_PREFIX).partition("-")
    pattern_type, _, name = rest.partition("-")
    return resource_type, pattern_type, unquote(name)


def acls_range() -> tuple[str, str]:
    return children(ACLS_PREFIX)


def user_key(name: str) -> str:
    return f"{USERS_PREFIX}{group_name(name)}"


def users_range() -> tuple[str, str]:
    return children(USERS_PREFIX)


def lease_key(topic_id: bytes) -> str:
    return f"{ROOT}/compaction/leases/{topic_id.hex()}"


def failure_key(topic_id: bytes) -> str:
    return f"{_FAILURES}{topic_id.hex()}"


def failures_range() -> tuple[str, str]:
    return children(_FAILURES)


def differences_key(topic_id: bytes) -> str:
    return f"{_DIFFERENCES}{topic_id.hex()}"


def differences_range() -> tuple[str, str]:
    return children(_DIFFERENCES)


def rebuild_key(topic_id: bytes) -> str:
    return f"{_REBUILDS}{topic_id.hex()}"


def rebuilds_range() -> tuple[str, str]:
    return children(_REBUILDS)


def dropped_table_key(topic_id: str, folder: str) -> str:
    """Return the key of a table by its topic and the folder that held it; a topic may have had several."""
    return f"{_DROPPED_TABLES}{topic_id}-{folder.replace('/', '-')}"


def dropped_tables_range() -> tuple[str, str]:
    return children(_DROPPED_TABLES)
