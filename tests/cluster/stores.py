"""In-memory stores that pause at every step, so that a test schedules the processes that use them."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from typing_extensions import Buffer

from dray.cluster import ClusterIdentity, StoreNames, claim
from dray.meta.memory import Link, MemoryMetaServer, MemoryMetaStore
from dray.objects.memory import MemoryBucket, MemoryObjects
from dray.runtime import Tasks
from dray.testing.entropy import SeededEntropy

T = TypeVar("T")

NAMES = StoreNames("sqlite:m", "s3://bucket/p")
CREATED_MS = 1_700_000_000_000


class FixedClock:
    """A clock that stands still."""

    def now_ms(self) -> int:
        return CREATED_MS

    def monotonic(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        raise AssertionError("nothing here waits")


CLOCK = FixedClock()
COMMIT_IDS = SeededEntropy("commit ids")


class _Pause:
    """A point where a process waits to be resumed."""

    def __await__(self) -> Generator["_Pause", None, None]:
        yield self


class _SteppedLink:
    """Pauses before and after every request."""

    async def call(self, request: Callable[[], T]) -> T:
        await _Pause()
        response = request()
        await _Pause()
        return response


class _SteppedObjects(MemoryObjects):
    """Pauses before and after every request."""

    async def get(self, path: str) -> Buffer:
        await _Pause()
        data = self.bucket.get(path)
        await _Pause()
        return data

    async def put_new(self, path: str, parts: Sequence[Buffer]) -> None:
        await _Pause()
        self.bucket.put_new(path, parts)
        await _Pause()


@dataclass
class Stores:
    """Both stores of a cluster, shared by its processes."""

    server: MemoryMetaServer = field(default_factory=lambda: MemoryMetaServer(CLOCK))
    bucket: MemoryBucket = field(default_factory=lambda: MemoryBucket(CLOCK))

    def meta(self, link: Link | None = None) -> MemoryMetaStore:
        return MemoryMetaStore(self.server, CLOCK, COMMIT_IDS, tasks=Tasks(), link=link)

    async def claim(
        self,
        seed: int = 0,
        cluster_id: str | None = None,
        domains: int | None = 1,
        domains_if_new: int = 1,
        *,
        link: Link | None = None,
        objects: MemoryObjects | None = None,
    ) -> ClusterIdentity:
        return await claim(
            self.meta(link),
            objects or MemoryObjects(self.bucket),
            cluster_id=cluster_id,
            domains=domains,
            domains_if_new=domains_if_new,
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
        """Run to the next pause; sets `ended` if there is none."""
        try:
            pause: Any = self._running.send(None)
        except StopIteration as stop:
            self.identity, self.ended = stop.value, True
        except Exception as error:  # noqa: BLE001 -- checked by the test
            self.error, self.ended = error, True
        else:
            assert isinstance(pause, _Pause)

    def finish(self) -> None:
        while not self.ended:
            self.step()

    def kill(self) -> None:
        self._running.close()
        self.ended = True
