"""Prices, latencies and processor times that the model assumes, each with its source.

Prices are list prices in us-east-1, in US dollars, without discounts. Those of S3 Express One Zone are from
the examples of AWS' S3 FAQ (https://aws.amazon.com/s3/faqs/), as it was after the reduction of April 2025.
The others are taken to be those that AWS publishes in 2026 and were not read again: check them before you
rely on a total. AWS states no distribution of latency: it says 100 to 200 ms for small objects in S3
Standard, and single-digit milliseconds for S3 Express One Zone. The medians and 99th percentiles here are
assumptions around that, and so is the throughput of one connection.
"""

from dataclasses import dataclass
from math import exp, log
from random import Random
from typing import Final

_NORMAL_P99: Final = 2.3263
MIB: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Latency:
    """A log-normal distribution by its median and 99th percentile, and a time for each byte."""

    p50_s: float
    p99_s: float
    bytes_per_s: float = float("inf")

    def sample(self, chance: Random, size_bytes: int = 0) -> float:
        sigma = log(self.p99_s / self.p50_s) / _NORMAL_P99
        return exp(chance.gauss(log(self.p50_s), sigma)) + size_bytes / self.bytes_per_s


@dataclass(frozen=True, slots=True)
class Bucket:
    """A class of S3 storage."""

    name: str
    put_each: float
    get_each: float
    upload_gb: float
    download_gb: float
    storage_gb_month: float
    put: Latency


STANDARD: Final = Bucket(
    "S3 Standard", 0.005 / 1000, 0.0004 / 1000, 0.0, 0.0, 0.023, Latency(0.100, 0.400, 90e6)
)
EXPRESS: Final = Bucket(
    "S3 Express One Zone", 0.00113 / 1000, 0.00003 / 1000, 0.0032, 0.0006, 0.11, Latency(0.007, 0.030, 200e6)
)
"""One zone: it does not survive the loss of that zone, unlike S3 Standard and Kafka over three zones."""

METADATA: Final = Latency(0.004, 0.020)
"""One commit or read of etcd with three members in three zones; an assumption."""

BETWEEN_ZONES_GB: Final = 2 * 0.01
"""Traffic between zones is charged to the sender and to the receiver."""
GP3_GB_MONTH: Final = 0.08
CORE_HOUR: Final = 0.0425
"""One vCPU of a current compute-optimized instance, such as c6i."""
HOURS_PER_MONTH: Final = 730


@dataclass(frozen=True, slots=True)
class Processor:
    """Processor time of a broker, in seconds of one core."""

    produce_gb: float
    """For each GB produced, in large batches."""
    batch: float
    """For each batch, on top of its bytes."""
    fetch_gb: float
    """For each GB fetched from memory."""


DRAY_PROCESSOR: Final = Processor(1.8, 90e-6, 0.85)
"""Measured on 2 cores of an AMD EPYC: results/beside-kafka.txt (1 KiB, librdkafka, 1 partition). The time for
each batch is from batches of 10 KB spread over 10,000 partitions, sent by a client that costs nothing; with
librdkafka, on a machine that others kept busy, results/growth.txt has about twice as much."""
KAFKA_PROCESSOR: Final = Processor(1.8, 20e-6, 0.4)
"""Measured on the same machine, in results/beside-kafka.txt; the time for each batch follows from Java's
producer there. A follower is taken to need as much as a consumer and a producer together."""
BUSY: Final = 0.5
"""The share of a core that is in use on average; the rest is headroom for peaks and failures."""
DISK_FULL: Final = 0.75
"""The share of Kafka's volumes that is in use on average."""
