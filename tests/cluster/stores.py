"""Stores in memory that stop at every step, so that a test says who goes next and who dies where."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from typing_extensions import Buffer

from dray.cluster import ClusterIdentity, StoreNames, claim
from dray.meta.memory import DirectLink, Link, MemoryMetaServer, MemoryMetaStore
from dray.objects.memory import MemoryBucket, MemoryObjects
from dray.runtime import SeededEntropy, Tasks

T = TypeVar("T")

NAMES = StoreNames("sqlite:m", "s3://bucket/p")
CREATED_MS = 1_700_000_000_000


class FixedClock:
    """Always the same moment."""

    def now_ms(self) -> int:
        return CREATED_MS

    def monotonic(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        raise AssertionError("nothing here waits")


CLOCK = FixedClock()
COMMIT_IDS = SeededEntropy("commit ids")


class _Turn:
    """Where a process stands still until it is its turn."""

    def __await__(self) -> Generator["_Turn", None, None]:
        yield self


class _SteppedLink:
    """Stops before every request and behind it."""

    async def call(self, request: Callable[[], T]) -> T:
        await _Turn()
        answer = request()
        await _Turn()
        return answer


class _SteppedObjects(MemoryObjects):
    """Stops before every request and behind it."""

    async def get(self, path: str) -> Buffer:
        await _Turn()
        data = self.bucket.get(path)
        await _Turn()
        return data

    async def put_new(self, path: str, parts: Sequence[Buffer]) -> None:
        await _Turn()
        self.bucket.put_new(path, parts)
        await _Turn()


@dataclass
class Stores:
    """Both stores of a cluster, as all its processes share them."""

    server: MemoryMetaServer = field(default_factory=lambda: MemoryMetaServer(CLOCK))
    bucket: MemoryBucket = field(default_factory=lambda: MemoryBucket(CLOCK))

    def meta(self, link: Link | None = None) -> MemoryMetaStore:
        return MemoryMetaStore(self.server, link or DirectLink(), CLOCK, COMMIT_IDS, tasks=Tasks())

    async def claim(
        self,
        seed: int = 0,
        cluster_id: str | None = None,
        domains: int = 1,
        *,
        link: Link | None = None,
        objects: MemoryObjects | None = None,
    ) -> ClusterIdentity:
        return await claim(
            self.meta(link),
            objects or MemoryObjects(self.bucket),
            cluster_id=cluster_id,
            domains=domains,
            clock=CLOCK,
            entropy=SeededEntropy(seed),
            names=NAMES,
        )


class Process:
    """One process that claims the stores, step by step."""

    def __init__(self, stores: Stores, seed: int, cluster_id: str | None = None) -> None:
        objects = _SteppedObjects(stores.bucket)
        self._running = stores.claim(seed, cluster_id, link=_SteppedLink(), objects=objects)
        self.identity: ClusterIdentity | None = None
        self.error: Exception | None = None
        self.ended = False

    def step(self) -> None:
        """Run to the next stop; `ended` is set when there is none."""
        try:
            turn: Any = self._running.send(None)
        except StopIteration as stop:
            self.identity, self.ended = stop.value, True
        except Exception as error:  # noqa: BLE001 -- told by the test
            self.error, self.ended = error, True
        else:
            assert isinstance(turn, _Turn)

    def finish(self) -> None:
        while not self.ended:
            self.step()

    def kill(self) -> None:
        self._running.close()
        self.ended = True
