"""One broker's log in virtual time: the real write path, over a bucket and a metadata store with latency.

Nothing of the log is modelled: `dray.log.Log` buffers, seals, uploads, plans and commits as in a broker, on
the event loop of the simulations. Three things are: the stores' latencies are sampled, batches arrive at
random (Poisson) for random streams, and the processor takes no time. The latency of a batch is therefore what
the rules of the writer and the two stores make of it.

Other brokers of a cluster are not simulated. They share nothing with this one but the stores, as long as
clients send each partition to the broker that Metadata names.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import NoReturn, TypeVar

from typing_extensions import Buffer

from benchmarks.capacity.prices import METADATA, Bucket, Latency
from dray.formats.wal_v1.layout import HEADER, WalHeader
from dray.ids import StreamId
from dray.log import Appended, Log, LogDeps, LogMetrics, LogSettings
from dray.meta.memory import MemoryMetaServer, MemoryMetaSettings, MemoryMetaStore
from dray.meta.port import CommitLimits
from dray.objects.port import ByteRange, ObjectInfo
from dray.observe import Metrics
from dray.records import BatchRules, Record, ValidBatch, encode_batch, validate
from dray.runtime import RetrySettings, Tasks
from dray.testing.clock import VirtualClock
from dray.testing.entropy import SeededEntropy
from dray.testing.virtual_loop import run, virtual_loop

T = TypeVar("T")

_ETCD_LIMITS = CommitLimits(checks_max=127, writes_max=127, bytes_max=1_400_000)
"""What etcd allows by default, less one operation for the slot."""
_STEPS_MAX = 10**9
_WARM_UP = 0.1
"""Of the simulated time; not counted."""


@dataclass(frozen=True, slots=True)
class Setup:
    """One broker, its share of the load, and its stores."""

    bytes_per_s: float
    streams: int
    batch_bytes: int
    bucket: Bucket
    domains: int = 16
    settings: LogSettings = field(default_factory=LogSettings)
    metadata: Latency = METADATA


@dataclass(frozen=True, slots=True)
class Simulated:
    """What one broker did, per second, and how long its batches took."""

    puts: float
    commits: float
    chunks: float
    put_bytes: float
    latencies_s: Sequence[float]
    """Sorted."""

    def quantile(self, share: float) -> float:
        return self.latencies_s[min(len(self.latencies_s) - 1, int(share * len(self.latencies_s)))]


class CountedBucket:
    """A bucket that keeps nothing: a put takes its sampled time."""

    def __init__(self, latency: Latency, chance: Random) -> None:
        self._latency = latency
        self._chance = chance
        self.puts = 0
        self.bytes = 0
        self.chunks = 0

    async def put_new(self, path: str, parts: Sequence[Buffer]) -> None:
        del path
        size = sum(memoryview(part).nbytes for part in parts)
        await asyncio.sleep(self._latency.sample(self._chance, size))
        self.puts += 1
        _, _, *header = HEADER.unpack(parts[0])
        self.chunks += WalHeader._make(header).chunk_count
        self.bytes += size

    async def get(self, path: str) -> NoReturn:
        raise NotImplementedError(f"the simulated bucket keeps nothing, and {path} was read")

    async def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> NoReturn:
        raise NotImplementedError(f"the simulated bucket keeps nothing, and {path} was read at {ranges}")

    async def head(self, path: str) -> NoReturn:
        raise NotImplementedError(f"the simulated bucket keeps nothing, and {path} was looked up")

    async def list(self, prefix: str, after: str = "") -> AsyncIterator[ObjectInfo]:
        del prefix, after
        nothing: tuple[ObjectInfo, ...] = ()
        for info in nothing:
            yield info

    async def delete(self, path: str) -> None:
        del path

    async def close(self) -> None: ...


class SampledLink:
    """The way to the metadata store and back, each half of a sampled time."""

    def __init__(self, latency: Latency, chance: Random) -> None:
        self._latency = latency
        self._chance = chance

    async def call(self, request: Callable[[], T]) -> T:
        half = self._latency.sample(self._chance) / 2
        await asyncio.sleep(half)
        response = request()
        await asyncio.sleep(half)
        return response


def simulate(setup: Setup, *, seconds: float, seed: int = 0) -> Simulated:
    """Run a broker for so long; equal seeds give equal results."""
    return run(_simulate(setup, seconds, seed), seed=seed, shuffle=False, step_limit=_STEPS_MAX)


async def _simulate(setup: Setup, seconds: float, seed: int) -> Simulated:
    chance, clock, tasks, metrics = Random(seed), VirtualClock(virtual_loop()), Tasks(), Metrics()
    bucket = CountedBucket(setup.bucket.put, chance)
    entropy = SeededEntropy(f"capacity {seed}")
    limits = MemoryMetaSettings(RetrySettings(first_ms=5, max_ms=20, budget_ms=1000), _ETCD_LIMITS)
    link = SampledLink(setup.metadata, chance)
    meta = MemoryMetaStore(MemoryMetaServer(clock), clock, entropy, tasks=tasks, settings=limits, link=link)
    instruments = LogMetrics.on(metrics)
    deps = LogDeps(meta, bucket, clock, entropy, tasks, setup.settings, instruments, "none", setup.domains)
    log = Log(deps)
    await log.start()
    load = _Load(log, setup, chance)
    await log.create_streams(load.streams)
    await load.send(_WARM_UP * seconds)
    counted = _Counts(load, bucket, metrics)
    await load.send((1 - _WARM_UP) * seconds)
    result = counted.until_now()
    await log.close()
    return result


class _Load:
    """Batches that arrive at random."""

    def __init__(self, log: Log, setup: Setup, chance: Random) -> None:
        self.streams = [StreamId(chance.getrandbits(64)) for _ in range(setup.streams)]
        self.latencies_s: list[float] = []
        self._log = log
        self._chance = chance
        self._batch = _batch(setup.batch_bytes)
        self._per_s = setup.bytes_per_s / len(memoryview(self._batch.buffer))
        self._loop = asyncio.get_running_loop()

    async def send(self, seconds: float) -> None:
        """Send batches for so long; those that wait for memory delay those after them."""
        end = due = self._loop.time()
        end += seconds
        while (due := due + self._chance.expovariate(self._per_s)) < end:
            await asyncio.sleep(max(0.0, due - self._loop.time()))
            sent = await self._log.append(self._chance.choice(self.streams), self._batch)
            sent.add_done_callback(partial(self._acknowledged, due))
        await asyncio.sleep(max(0.0, end - self._loop.time()))

    def _acknowledged(self, due: float, sent: "asyncio.Future[Appended]") -> None:
        sent.result()
        self.latencies_s.append(self._loop.time() - due)


class _Counts:
    """Counters since this object was made."""

    def __init__(self, load: _Load, bucket: CountedBucket, metrics: Metrics) -> None:
        self._load = load
        self._bucket = bucket
        self._metrics = metrics
        self._began = asyncio.get_running_loop().time()
        self._before = self._now()
        load.latencies_s.clear()

    def until_now(self) -> Simulated:
        took = asyncio.get_running_loop().time() - self._began
        counted = zip(self._now(), self._before, strict=True)
        puts, commits, chunks, size = [(after - before) / took for after, before in counted]
        return Simulated(puts, commits, chunks, size, sorted(self._load.latencies_s))

    def _now(self) -> tuple[float, float, float, float]:
        commits = self._metrics.registry.get_sample_value("dray_log_commit_seconds_count") or 0.0
        return self._bucket.puts, commits, self._bucket.chunks, self._bucket.bytes


def _batch(size: int) -> ValidBatch:
    raw = encode_batch([Record(0, 0, None, bytes(size))])
    return validate(memoryview(raw), BatchRules(max_message_bytes=2 * size + 1024), 0)
