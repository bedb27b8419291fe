"""Settings of the Oxia metadata store; the defaults suit a broker."""

from dataclasses import dataclass, field
from typing import Self

from dray.meta.oxia.access import OxiaAccess
from dray.meta.urls import parse_oxia_url
from dray.runtime import RetrySettings


@dataclass(frozen=True, slots=True)
class OxiaMetaSettings:
    endpoints: tuple[str, ...] = ("127.0.0.1:6648",)
    """Servers to ask for the shard assignments; the leaders of the shards are learned from them."""
    namespace: str = "default"
    """The namespace must belong to one Dray cluster alone."""

    access: OxiaAccess = field(default_factory=OxiaAccess)

    request_ms: float = 5_000.0
    """How long one request may take before its response counts as lost."""
    snapshot_ms: float = 600_000.0
    """How long the scan of one domain may take when a snapshot is read."""
    retry: RetrySettings = field(default_factory=lambda: RetrySettings(first_ms=20.0, max_ms=1_000.0))
    """How long a call is retried while a leader is unavailable, and an unknown outcome looked up."""
    help_after_ms: float = 25.0
    """How long another writer may take to apply its commit before this one applies it."""

    group_commits_max: int = 128
    """Maximum number of commits of one process that share the two requests."""
    commit_bytes_max: int = 8 * 1024 * 1024
    commit_writes_max: int = 4_096

    session_ttl_min_ms: int = 2_000
    session_ttl_max_ms: int = 300_000
    """The server accepts no others; a shorter or longer one is adjusted."""
    sweep_ms: float = 1_000.0
    """How often to check for ephemeral keys whose session has ended."""
    catch_up_batches_max: int = 10_000
    """A watcher that lags more gets a gap instead."""

    @classmethod
    def at(cls, text: str) -> Self:
        """Return the settings of a URL."""
        url = parse_oxia_url(text)
        return cls(endpoints=url.addresses, namespace=url.namespace)
