"""Costs per month of a workload, on Dray and on Kafka with three replicas over three zones. Pure."""

from dataclasses import dataclass
from math import ceil

from benchmarks.capacity.prices import (
    BETWEEN_ZONES_GB,
    BUSY,
    CORE_HOUR,
    DISK_FULL,
    DRAY_PROCESSOR,
    GP3_GB_MONTH,
    HOURS_PER_MONTH,
    KAFKA_PROCESSOR,
    Bucket,
    Processor,
)

SECONDS_PER_MONTH = HOURS_PER_MONTH * 3600
_REPLICAS = 3
_ZONES = 3
_ENTRY_BYTES = 400
"""An index entry, a head and their keys, as they are sent to the metadata store."""


@dataclass(frozen=True, slots=True)
class Workload:
    """What clients do, on average; bytes are those after the clients' compression."""

    bytes_per_s: float
    partitions: int
    batch_bytes: int = 64 * 1024
    fan_out: float = 2.0
    """How often each byte is consumed."""
    retention_days: float = 3.0

    @property
    def gb_per_month(self) -> float:
        return self.bytes_per_s * SECONDS_PER_MONTH / 1e9

    @property
    def retained_gb(self) -> float:
        return self.bytes_per_s * self.retention_days * 86_400 / 1e9


@dataclass(frozen=True, slots=True)
class Rates:
    """Rates per second of a whole cluster, as simulated."""

    puts: float
    commits: float
    chunks: float
    """One for each stream of each object: an index entry to write, and a range to read when compacting."""


@dataclass(frozen=True, slots=True)
class Costs:
    """Dollars per month."""

    requests: float
    transfer: float
    storage: float
    processors: float

    @property
    def total(self) -> float:
        return self.requests + self.transfer + self.storage + self.processors


def cores(work: Workload, processor: Processor, *, copies: int = 0) -> float:
    """Return the cores that brokers use on average; `copies` are those that followers fetch and write."""
    gb_per_s = work.bytes_per_s / 1e9
    produce = processor.produce_gb * gb_per_s + processor.batch * work.bytes_per_s / work.batch_bytes
    fetch = processor.fetch_gb * gb_per_s
    return (1 + copies) * produce + (work.fan_out + copies) * fetch


def brokers(work: Workload) -> int:
    """Return how many broker processes of Dray are needed; each uses one core."""
    return max(1, ceil(cores(work, DRAY_PROCESSOR) / BUSY))


def dray(work: Workload, bucket: Bucket, rates: Rates) -> Costs:
    """Return the costs on Dray with clients that stay in their zone.

    Consumers are served from the brokers' memory; besides them only compaction reads the objects, each chunk
    once. It writes everything a second time, as Parquet files of 128 MB.
    """
    parquet_puts = work.gb_per_month * 1e9 / 128e6
    requests = (rates.puts * SECONDS_PER_MONTH + parquet_puts) * bucket.put_each
    requests += rates.chunks * SECONDS_PER_MONTH * bucket.get_each
    moved = work.gb_per_month * (2 * bucket.upload_gb + bucket.download_gb)
    entries_gb = rates.chunks * SECONDS_PER_MONTH * _ENTRY_BYTES / 1e9
    metadata = entries_gb * (_REPLICAS - 1) * BETWEEN_ZONES_GB
    storage = work.retained_gb * bucket.storage_gb_month
    return Costs(requests + moved, metadata, storage, _core_costs(cores(work, DRAY_PROCESSOR)))


def kafka(work: Workload) -> Costs:
    """Return the costs on Kafka with three replicas over three zones, consumers fetching in their zone."""
    produced = (_ZONES - 1) / _ZONES
    transfer = work.gb_per_month * (produced + _REPLICAS - 1) * BETWEEN_ZONES_GB
    storage = _REPLICAS * work.retained_gb / DISK_FULL * GP3_GB_MONTH
    used = cores(work, KAFKA_PROCESSOR, copies=_REPLICAS - 1)
    return Costs(0.0, transfer, storage, _core_costs(used))


def _core_costs(used: float) -> float:
    return max(1, ceil(used / BUSY)) * CORE_HOUR * HOURS_PER_MONTH
