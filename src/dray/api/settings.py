"""What can be chosen about the Kafka APIs."""

from typing import Annotated

from msgspec import Meta, Struct

_MIB = 1 << 20


class KafkaSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The broker as Kafka's clients see it."""

    auto_create_topics: Annotated[
        bool, Meta(description="Whether a topic that a client asks about is made if there is none.")
    ] = True
    num_partitions: Annotated[
        int, Meta(ge=1, le=10_000, description="Partitions of a topic that is made without a number.")
    ] = 1
    default_replication_factor: Annotated[
        int, Meta(ge=1, le=32767, description="The replication factor that is shown; nothing is replicated.")
    ] = 1
    fetch_bytes_max: Annotated[int, Meta(ge=1024, description="The largest answer to a fetch.")] = 55 * _MIB
    delete_topics: Annotated[bool, Meta(description="Whether clients may delete topics.")] = True
