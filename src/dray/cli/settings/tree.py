"""The settings of Dray: one section for each room, in the order the page shows them.

A room that has settings owns one frozen Struct in its own room; the sections that stand here belong to
rooms that have none yet, or to the command itself. Every field has a description, from which
docs/SETTINGS.md is made; limits are `Meta` constraints; what two fields must hold together is checked in
`__post_init__`, which raises `ValueError` with a sentence.
"""

from typing import Annotated, Final, Literal

from msgspec import Meta, Struct, structs

from dray.api.settings import KafkaSettings
from dray.cli.addresses import PORT_MAX, Address
from dray.cli.settings.storage import DATA_DIR, StorageSettings
from dray.cli.settings.tables import TablesSettings
from dray.groups.limits import GroupLimits
from dray.log.settings import LogSettings
from dray.net.settings import NetSettings
from dray.pipeline.settings import CompactionSettings
from dray.pipeline.spark.settings import SparkSettings

_NAME = r"^[A-Za-z0-9._-]{1,128}$"
_NAME_ALLOWED = "1 to 128 letters, digits, '.', '_' or '-'"
_ADDRESS = r"^(\[[0-9a-fA-F:.]+\]|[^:\s]+):[0-9]{1,5}$"
_ADDRESS_ALLOWED = "HOST:PORT"

BROKER_ID_MAX: Final = 2**31 - 1


class ClusterSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The cluster this process belongs to. Id and domains are fixed when the cluster is made."""

    id: Annotated[
        Annotated[str, Meta(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_-]{21}$")] | None,
        Meta(
            description="The id the stores must have, and a new cluster gets; without it, theirs is taken.",
            extra={"allowed": "22 characters of base64url, as Kafka's cluster ids"},
        ),
    ] = None
    domains: Annotated[
        int,
        Meta(description="How many meta domains a new cluster has.", ge=1, le=1024),
    ] = 1


class BrokerSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """This process."""

    id: Annotated[
        int,
        Meta(
            description="The broker's number, unique in the cluster.",
            ge=0,
            le=BROKER_ID_MAX,
            extra={"flag": "--broker-id"},
        ),
    ] = 1
    zone: Annotated[
        Annotated[str, Meta(pattern=_NAME)] | None,
        Meta(
            description="The availability zone this broker runs in.",
            extra={"flag": "--zone", "allowed": _NAME_ALLOWED},
        ),
    ] = None
    data_dir: Annotated[
        str,
        Meta(
            description="The directory for everything kept on this machine.",
            extra={"flag": "--data-dir", "allowed": "a path"},
        ),
    ] = "./dray-data"
    listen: Annotated[
        str,
        Meta(
            description="Where Kafka clients connect; port 0 takes a free one.",
            pattern=_ADDRESS,
            extra={"flag": "--listen", "allowed": _ADDRESS_ALLOWED},
        ),
    ] = "127.0.0.1:9092"
    advertise: Annotated[
        Annotated[str, Meta(pattern=_ADDRESS)] | None,
        Meta(
            description="The address clients are told to connect to, if it is not the one listened on.",
            extra={"flag": "--advertise", "allowed": _ADDRESS_ALLOWED},
        ),
    ] = None
    http: Annotated[
        str,
        Meta(
            description="Where health and metrics are shown; port 0 takes a free one.",
            pattern=_ADDRESS,
            extra={"flag": "--http", "allowed": _ADDRESS_ALLOWED},
        ),
    ] = "127.0.0.1:8090"

    def __post_init__(self) -> None:
        for key in ("listen", "advertise", "http"):
            address = getattr(self, key)
            if address is not None and Address.parse(address).port > PORT_MAX:
                raise ValueError(f"{key} {address} has no port; they end at {PORT_MAX}")
        told = self.advertise or self.listen
        if Address.parse(told).is_everywhere:
            raise ValueError(
                f"clients cannot be told to connect to {told}; give advertise (--advertise), "
                "the address at which they reach this broker"
            )


class MetadataSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The metadata store."""

    url: Annotated[
        str,
        Meta(
            description="Where metadata is kept; all processes of a cluster use the same.",
            pattern=r"^(memory:|sqlite:.+)$",
            extra={"flag": "--metadata", "allowed": "sqlite:PATH or memory:"},
        ),
    ] = f"sqlite:{DATA_DIR}/metadata.sqlite"
    commit_timeout_ms: Annotated[
        int,
        Meta(
            description="How long a commit may take before its caller is told that it failed, or is unknown.",
            ge=1,
        ),
    ] = 10_000
    session_ttl_ms: Annotated[
        int,
        Meta(
            description="How long the cluster waits for a silent process before it counts as gone.", ge=1000
        ),
    ] = 3_000


class LoggingSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The log lines of this process, on standard error."""

    format: Annotated[
        Literal["auto", "json", "pretty"],
        Meta(
            description="How lines look; auto is pretty on a terminal and json elsewhere.",
            extra={"allowed": "auto, json or pretty"},
        ),
    ] = "auto"
    level: Annotated[
        Literal["debug", "info", "warning", "error"],
        Meta(
            description="The least important lines that are written.",
            extra={"allowed": "debug, info, warning or error"},
        ),
    ] = "info"


class DraySettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """All sections."""

    cluster: ClusterSettings = ClusterSettings()
    broker: BrokerSettings = BrokerSettings()
    metadata: MetadataSettings = MetadataSettings()
    storage: StorageSettings = StorageSettings()
    kafka: KafkaSettings = KafkaSettings()
    groups: GroupLimits = GroupLimits()
    net: NetSettings = NetSettings()
    log: LogSettings = LogSettings()
    tables: TablesSettings = TablesSettings()
    compaction: CompactionSettings = CompactionSettings()
    spark: SparkSettings = SparkSettings()
    logging: LoggingSettings = LoggingSettings()


def with_data_dir(settings: DraySettings) -> DraySettings:
    """Replace `{data_dir}` in the stores' URLs; `ValueError` if that makes no URL."""
    data_dir = settings.broker.data_dir
    metadata, storage, tables = settings.metadata, settings.storage, settings.tables
    return structs.replace(
        settings,
        metadata=structs.replace(metadata, url=metadata.url.replace(DATA_DIR, data_dir)),
        storage=structs.replace(storage, url=storage.url.replace(DATA_DIR, data_dir)),
        tables=structs.replace(tables, catalog=tables.catalog.replace(DATA_DIR, data_dir)),
    )
