"""Sweeps and retention on the stores of the log's tests."""

from collections.abc import Callable

from dray.ids import StreamId
from dray.log import LogSettings, Trimmer
from dray.sweep import Retention, RetentionPolicy, Swept, WalSweep
from tests.log.builders import DOMAIN, STORE_DOMAIN, OpenLog, Rig

TTL_MS = 10_000
GRACE_MS = 5_000


def sweep_of(rig: Rig, opened: OpenLog, *, ttl_ms: int = TTL_MS) -> WalSweep:
    """A sweep that goes through the log's own link and object store, and so meets their faults."""
    return WalSweep(opened.meta, opened.objects, DOMAIN, rig.clock, ttl_ms)


async def swept(rig: Rig, opened: OpenLog) -> tuple[int, int, int]:
    """Sweep once; collected, orphans, strays."""
    return told(await everything(sweep_of(rig, opened)))


async def everything(sweep: WalSweep) -> Swept:
    """One sweep of each kind."""
    done, strays = await sweep.run(), await sweep.run_strays()
    return Swept(done.collected, done.orphans, strays.strays, done.failed + strays.failed)


def told(done: Swept) -> tuple[int, int, int]:
    return done.collected, done.orphans, done.strays


def retention_of(
    rig: Rig, opened: OpenLog, policy: RetentionPolicy | Callable[[StreamId], RetentionPolicy]
) -> Retention:
    trimmer = Trimmer(opened.meta, STORE_DOMAIN, DOMAIN, rig.clock, LogSettings(wal_gc_grace_ms=GRACE_MS))
    policy_of = policy if callable(policy) else lambda _: policy
    return Retention(opened.meta, DOMAIN, trimmer, rig.clock, policy_of)
