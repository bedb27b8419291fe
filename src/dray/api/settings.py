"""Settings of the Kafka APIs."""

from typing import Annotated

from msgspec import Meta, Struct

_MIB = 1 << 20


class KafkaSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Defaults and limits of the Kafka APIs."""

    auto_create_topics_enable: Annotated[
        bool,
        Meta(
            description="Create a topic when a client requests metadata of a missing one "
            "(Kafka: `auto.create.topics.enable`)."
        ),
    ] = True
    num_partitions: Annotated[
        int,
        Meta(
            ge=1,
            le=10_000,
            description="Number of partitions of a topic that is created without one (Kafka: "
            "`num.partitions`).",
        ),
    ] = 1
    default_replication_factor: Annotated[
        int,
        Meta(
            ge=1,
            le=32767,
            description="Replication factor reported to clients. Partitions are not replicated; durability "
            "comes from the object store (Kafka: `default.replication.factor`).",
        ),
    ] = 1
    fetch_max_bytes: Annotated[
        int,
        Meta(
            ge=1024, le=2**31 - 1, description="Maximum size of a fetch response (Kafka: `fetch.max.bytes`)."
        ),
    ] = 55 * _MIB
    max_incremental_fetch_session_cache_slots: Annotated[
        int,
        Meta(
            ge=0,
            le=100_000,
            description="Maximum number of fetch sessions; further clients send full fetch requests (Kafka: "
            "`max.incremental.fetch.session.cache.slots`).",
        ),
    ] = 1000
    min_incremental_fetch_session_eviction_ms: Annotated[
        int,
        Meta(
            ge=0,
            description="Minimum time without use, or age, before a fetch session is evicted for a new one "
            "(Kafka: `min.incremental.fetch.session.eviction.ms`).",
        ),
    ] = 120_000
    fetch_session_partitions_max: Annotated[
        int,
        Meta(ge=0, description="Maximum number of partitions in all fetch sessions of a broker together."),
    ] = 500_000
    delete_topic_enable: Annotated[
        bool, Meta(description="Whether clients may delete topics (Kafka: `delete.topic.enable`).")
    ] = True
