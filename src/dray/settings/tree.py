"""The settings of Dray: one section per package, in the order of docs/SETTINGS.md.

A package with settings declares one frozen Struct; the sections below belong to the process as a whole. Every
field has a description, from which docs/SETTINGS.md is generated. Limits of one field are `Meta` constraints;
constraints between fields are checked in `__post_init__`, which raises `ValueError` with a sentence.

Where Kafka has the same setting, the description names Kafka's key; in `kafka`, `groups` and `net` the name
is Kafka's too. All other names end with the unit, then the bound: `tail_cache_bytes_max`.
"""

from typing import Annotated, Final, Literal

from msgspec import Meta, Struct, structs

from dray.api.settings import KafkaSettings
from dray.cluster.addresses import PORT_MAX
from dray.cluster.settings import RoutingSettings, SecuritySettings
from dray.compaction.settings import CompactionSettings
from dray.groups.limits import GroupLimits
from dray.log.settings import LogSettings
from dray.meta.urls import ETCD, OXIA, parse_etcd_url, parse_oxia_url
from dray.net.endpoints import HttpAddress, Protocol, plan_listeners
from dray.net.sasl_settings import SaslSettings
from dray.net.settings import NetSettings
from dray.settings.secret import Secret
from dray.settings.storage import DATA_DIR, StorageSettings
from dray.settings.tables import TablesSettings
from dray.settings.tls import TlsSettings
from dray.spark.settings import SparkSettings

_NAME = r"^[A-Za-z0-9._-]{1,128}$"
_NAME_ALLOWED = "1 to 128 letters, digits, '.', '_' or '-'"
_ADDRESS = r"^(\[[0-9a-fA-F:.]+\]|[^:\s]+):[0-9]{1,5}$"
_ADDRESS_ALLOWED = "HOST:PORT"
_HTTP = r"^(https?://)?(\[[0-9a-fA-F:.]+\]|[^:/\s]+):[0-9]{1,5}$"
_NAMED = r"\s*[A-Za-z0-9_-]+://(\[[0-9a-fA-F:.]+\]|[^:\s,]+):[0-9]{1,5}\s*"
_ADDRESSES = rf"{_ADDRESS}|^{_NAMED}(,{_NAMED})*$"
_ADDRESSES_ALLOWED = "HOST:PORT, or a list of NAME://HOST:PORT"

BROKER_ID_MAX: Final = 2**31 - 1


class ClusterSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The cluster that this process belongs to. Id and domains are fixed when the cluster is created."""

    id: Annotated[
        Annotated[str, Meta(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_-]{21}$")] | None,
        Meta(
            description="Id of the cluster (Kafka: `cluster.id`). Assigned to a new cluster; an existing one "
            "must match. If unset, any cluster is accepted.",
            extra={"allowed": "22 characters of base64url, like a Kafka cluster id"},
        ),
    ] = None
    domains: Annotated[
        Annotated[int, Meta(ge=1, le=1024)] | None,
        Meta(
            description="Number of meta domains of a new cluster: independent commit scopes that its "
            "partitions are spread over. If unset, a new cluster on etcd or Oxia gets 16, any other 1; an "
            "existing one keeps its number.",
            extra={"allowed": "an integer from 1 to 1024"},
        ),
    ] = None


class BrokerSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The broker in this process."""

    id: Annotated[
        Annotated[int, Meta(ge=0, le=BROKER_ID_MAX)] | None,
        Meta(
            description="Id of the broker, unique in the cluster (Kafka: `node.id`). Unset, the metadata "
            "store assigns one, and the broker at the same advertised address gets it again.",
            extra={"flag": "--broker-id", "allowed": f"an integer from 0 to {BROKER_ID_MAX}"},
        ),
    ] = None
    zone: Annotated[
        Annotated[str, Meta(pattern=_NAME)] | None,
        Meta(
            description="Availability zone that the broker runs in (Kafka: `broker.rack`).",
            extra={"flag": "--zone", "allowed": _NAME_ALLOWED},
        ),
    ] = None
    data_dir: Annotated[
        str,
        Meta(
            description="Directory for local data.",
            extra={"flag": "--data-dir", "allowed": "a path"},
        ),
    ] = "./dray-data"
    listen: Annotated[
        str,
        Meta(
            description="Addresses that the broker listens on for Kafka clients, each with the name of its "
            "listener: SSL://HOST:PORT. A single one without a name is PLAINTEXT. Port 0 chooses a free port "
            "(Kafka: `listeners`).",
            pattern=_ADDRESSES,
            extra={"flag": "--listen", "allowed": _ADDRESSES_ALLOWED},
        ),
    ] = "127.0.0.1:9092"
    advertise: Annotated[
        Annotated[str, Meta(pattern=_ADDRESSES)] | None,
        Meta(
            description="Addresses that clients connect to, by listener, where they differ from the listen "
            "addresses (Kafka: `advertised.listeners`).",
            extra={"flag": "--advertise", "allowed": _ADDRESSES_ALLOWED},
        ),
    ] = None
    listener_protocols: Annotated[
        str | None,
        Meta(
            description="Security protocols of listeners that are not named after one "
            "(Kafka: `listener.security.protocol.map`).",
            extra={"allowed": f"a list of NAME:PROTOCOL, with {', '.join(Protocol)}"},
        ),
    ] = None
    insecure: Annotated[
        bool,
        Meta(
            description="Allow listeners without TLS on addresses that other machines can reach.",
            extra={"flag": "--insecure"},
        ),
    ] = False
    http: Annotated[
        str,
        Meta(
            description="Address of the health and metrics endpoints, with TLS as https://HOST:PORT; port 0 "
            "chooses a free one.",
            pattern=_HTTP,
            extra={"flag": "--http", "allowed": f"{_ADDRESS_ALLOWED} or https://{_ADDRESS_ALLOWED}"},
        ),
    ] = "127.0.0.1:8090"
    drain_ms: Annotated[
        int,
        Meta(
            description="How long a broker that shuts down keeps its connections after it has left Metadata, "
            "to redirect clients to other brokers (Kafka: controlled shutdown); skipped if there is no "
            "other broker. After that `net.shutdown_drain_timeout_ms` applies.",
            ge=0,
        ),
    ] = 1_000

    def __post_init__(self) -> None:
        if HttpAddress.parse(self.http).address.port > PORT_MAX:
            raise ValueError(f"http {self.http} has an invalid port; the highest is {PORT_MAX}")
        plan_listeners(self.listen, self.advertise, self.listener_protocols)


class MetadataSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The metadata store. TLS is for etcd and Oxia, tokens are for Oxia, user and `etcd_*` for etcd."""

    url: Annotated[
        str,
        Meta(
            description="URL of the metadata store; all processes of a cluster use the same one.",
            pattern=r"^(memory:|sqlite:.+|(etcd|oxia)://.+)$",
            extra={
                "flag": "--metadata",
                "allowed": "sqlite:PATH, etcd://HOST:PORT,HOST:PORT/PREFIX, "
                "oxia://HOST:PORT,HOST:PORT/NAMESPACE or memory:",
            },
        ),
    ] = f"sqlite:{DATA_DIR}/metadata.sqlite"
    commit_timeout_ms: Annotated[
        int,
        Meta(
            description="Timeout of a commit; the caller then learns that it failed or that its outcome "
            "is unknown.",
            ge=1,
        ),
    ] = 10_000
    session_ttl_ms: Annotated[
        int,
        Meta(
            description="Time without a heartbeat after which a process is considered dead (Kafka: "
            "`broker.session.timeout.ms`).",
            ge=1000,
        ),
    ] = 3_000
    tls_ca_file: Annotated[
        str | None,
        Meta(
            description="File with the certificates of the authorities that sign the servers' certificates; "
            "setting it turns TLS on.",
            extra={"allowed": "the path of a PEM file"},
        ),
    ] = None
    tls_certificate_file: Annotated[
        str | None,
        Meta(
            description="File with this process's certificate, if the servers require one.",
            extra={"allowed": "the path of a PEM file"},
        ),
    ] = None
    tls_key_file: Annotated[
        str | None,
        Meta(
            description="File with the private key of that certificate.",
            extra={"allowed": "the path of a PEM file"},
        ),
    ] = None
    username: Annotated[str | None, Meta(description="User of the metadata store.")] = None
    password: Annotated[Secret | None, Meta(description="Password of that user.")] = None
    token: Annotated[
        Secret | None, Meta(description="Bearer token of the metadata store (OpenID Connect).")
    ] = None
    token_file: Annotated[
        str | None,
        Meta(
            description="File with that token, which is read again, so that it can be replaced before it "
            "expires.",
            extra={"allowed": "a path"},
        ),
    ] = None
    etcd_request_bytes_max: Annotated[
        int,
        Meta(
            description="Largest request that etcd accepts (`--max-request-bytes` of all members), less a "
            "margin for its envelope.",
            ge=256 * 1024,
        ),
    ] = 1_536 * 1024 - 16 * 1024
    etcd_history_ms: Annotated[
        int,
        Meta(
            description="How long etcd keeps old revisions, for watches that resume; 0 leaves compaction to "
            "etcd's own settings.",
            ge=0,
        ),
    ] = 600_000

    backup_interval_ms: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        Meta(
            description="How often a broker saves the metadata to the object store, if something has "
            "changed; 0 turns that off. Unset, it is 180000 for SQLite with a cloud bucket, and 0 otherwise.",
            extra={"allowed": "an integer of at least 0"},
        ),
    ] = None
    backups_kept: Annotated[
        int,
        Meta(description="How many of these backups the object store keeps; older ones are deleted.", ge=1),
    ] = 10

    def __post_init__(self) -> None:
        if self.url.startswith(ETCD):
            parse_etcd_url(self.url)
        if self.url.startswith(OXIA):
            parse_oxia_url(self.url)
        if (self.tls_certificate_file is None) != (self.tls_key_file is None):
            raise ValueError("tls_certificate_file and tls_key_file go together; set both or neither")
        if self.tls_certificate_file is not None and self.tls_ca_file is None:
            raise ValueError("tls_certificate_file is set without tls_ca_file, which turns TLS on; set both")
        if (self.username is None) != (self.password is None):
            raise ValueError("username and password go together; set both or neither")


class LoggingSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Log lines of this process, on standard error."""

    format: Annotated[
        Literal["auto", "json", "pretty"],
        Meta(
            description="Format of log lines; auto means pretty on a terminal and json elsewhere.",
            extra={"allowed": "auto, json or pretty"},
        ),
    ] = "auto"
    level: Annotated[
        Literal["debug", "info", "warning", "error"],
        Meta(
            description="Minimum log level.",
            extra={"allowed": "debug, info, warning or error"},
        ),
    ] = "info"


class DraySettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """All settings, by section."""

    cluster: ClusterSettings = ClusterSettings()
    broker: BrokerSettings = BrokerSettings()
    routing: RoutingSettings = RoutingSettings()
    metadata: MetadataSettings = MetadataSettings()
    storage: StorageSettings = StorageSettings()
    kafka: KafkaSettings = KafkaSettings()
    groups: GroupLimits = GroupLimits()
    net: NetSettings = NetSettings()
    tls: TlsSettings = TlsSettings()
    sasl: SaslSettings = SaslSettings()
    security: SecuritySettings = SecuritySettings()
    log: LogSettings = LogSettings()
    tables: TablesSettings = TablesSettings()
    compaction: CompactionSettings = CompactionSettings()
    spark: SparkSettings = SparkSettings()
    logging: LoggingSettings = LoggingSettings()


def with_data_dir(settings: DraySettings) -> DraySettings:
    """Replace `{data_dir}` in the stores' URLs; `ValueError` if the result is not a URL."""
    data_dir = settings.broker.data_dir
    metadata, storage, tables = settings.metadata, settings.storage, settings.tables
    return structs.replace(
        settings,
        metadata=structs.replace(metadata, url=metadata.url.replace(DATA_DIR, data_dir)),
        storage=structs.replace(storage, url=storage.url.replace(DATA_DIR, data_dir)),
        tables=structs.replace(tables, catalog=tables.catalog.replace(DATA_DIR, data_dir)),
    )
