"""The structs of the metadata store by class name, as key families name them."""

from typing import Any, Final

import msgspec

from dray.cluster.acls import StoredAcls
from dray.cluster.broker_ids import BrokerIdClaim
from dray.cluster.brokers import BrokerInfo
from dray.cluster.group_configs import StoredGroupConfigs
from dray.cluster.identity_plan import ClusterRecord
from dray.cluster.new_streams import NewStreams
from dray.cluster.producer_ids import NextProducerId
from dray.cluster.quotas import StoredQuotas
from dray.cluster.restores import RestoreMarker
from dray.cluster.topic_admin import DeletedTopic
from dray.cluster.topics import Topic
from dray.cluster.users import StoredUser
from dray.compaction.failures import TopicFailure
from dray.groups.classic.state import ClassicGroup
from dray.groups.consumer.state import ConsumerGroup
from dray.groups.stored import Tombstone
from dray.groups.types import CommittedOffset
from dray.index import CompactionJob, ParquetEntry, StreamHead, WalEntry
from dray.index.files import FileGcMarker, ParquetFile
from dray.index.loads import Load
from dray.index.objects import GcMarker, StagingMarker, WalObject
from dray.index.reference_checks import ReferenceChecks
from dray.index.table_records import Dropped, Rebuild
from dray.keyspace import KEY_FAMILIES, KeyFamily
from dray.log.missing import MissingFileHint
from dray.maintenance.differences import Difference
from dray.producers.snapshot import ProducerSnapshot

_STRUCTS: Final[tuple[type[msgspec.Struct], ...]] = (
    BrokerIdClaim,
    BrokerInfo,
    ClassicGroup,
    ClusterRecord,
    CommittedOffset,
    CompactionJob,
    ConsumerGroup,
    DeletedTopic,
    Difference,
    Dropped,
    FileGcMarker,
    GcMarker,
    Load,
    MissingFileHint,
    NewStreams,
    NextProducerId,
    ParquetEntry,
    ParquetFile,
    ProducerSnapshot,
    Rebuild,
    ReferenceChecks,
    RestoreMarker,
    StagingMarker,
    StoredAcls,
    StoredGroupConfigs,
    StoredQuotas,
    StoredUser,
    StreamHead,
    Tombstone,
    Topic,
    TopicFailure,
    WalEntry,
    WalObject,
)
_BY_NAME: Final = {kind.__name__: kind for kind in _STRUCTS}


def _decoder(family: KeyFamily) -> "msgspec.msgpack.Decoder[Any] | msgspec.json.Decoder[Any] | None":
    """Return the decoder of a family's values; None for values that `raw` describes."""
    kinds = tuple(_BY_NAME[name] for name in family.values)
    if not kinds:
        return None
    kind: Any = kinds[0]
    for other in kinds[1:]:
        kind = kind | other
    if family.raw:
        kind = tuple[kind, ...]
    if kinds == (ClusterRecord,):
        return msgspec.json.Decoder(kind)
    return msgspec.msgpack.Decoder(kind)


_DECODERS: Final = {family.pattern: _decoder(family) for family in KEY_FAMILIES}


def require_decodable(family: KeyFamily, value: bytes) -> None:
    """Raise `msgspec.DecodeError` unless the value is one of the family."""
    decoder = _DECODERS[family.pattern]
    if decoder is not None:
        decoder.decode(value)
