"""Settings of the etcd metadata store; the defaults suit a broker."""

from dataclasses import dataclass, field
from typing import Final

from dray.meta.grpc_tls import TlsFiles

MIB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class EtcdAccess:
    """Where the store is, and how a client proves that it may use it."""

    addresses: tuple[str, ...]
    prefix: str
    tls: TlsFiles | None = None
    username: str | None = None
    password: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class EtcdMetaSettings:
    wait_ms: float = 30_000.0
    """How long a request is repeated while etcd does not answer, and an outcome is looked up."""
    attempt_ms: float = 2_000.0
    """Timeout of one attempt; another endpoint gets the next one."""
    hedge_ms: float = 300.0
    """A request that may be executed twice is sent to the next endpoint as well after so long."""
    lookup_ms: float = 500.0
    """How long to wait for the response to a commit before its outcome is looked up. It doubles with each
    attempt, up to `attempt_ms`, so that a commit that takes long is not fenced forever."""

    request_bytes_max: int = MIB * 3 // 2 - 16 * 1024
    """The limit of etcd (`--max-request-bytes`), less the envelope of a request."""
    page_keys: int = 500
    """Maximum number of keys that one request of a scan returns."""
    slot_ttl_ms: int = 600_000
    """How long the commit slots of a dead client remain."""

    probe_ms: float = 2_000.0
    """A watch that is silent for so long is asked for its progress."""
    catch_up_commits_max: int = 10_000
    """A watcher that lags more gets a gap instead."""
    catch_up_probe_ms: float = 50.0
    """How often a watch that reads past changes is asked whether it has reached the present."""
    history_ms: int = 600_000
    """How long etcd keeps old revisions; 0 leaves compaction to etcd."""
