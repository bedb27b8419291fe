"""Builders of sweeps and retention on the stores of the log tests."""

from collections.abc import Callable

from dray.ids import StreamId
from dray.log import LogSettings, Trimmer
from dray.sweep import Retention, RetentionPolicy, Swept, WalSweep
from tests.log.builders import DOMAIN, OpenLog, Rig

TTL_MS = 10_000
GRACE_MS = 5_000


def sweep_of(rig: Rig, opened: OpenLog, *, ttl_ms: int = TTL_MS) -> WalSweep:
    """Return a sweep on the log's own metadata link and object store, with the faults injected there."""
    return WalSweep(opened.meta, opened.objects, DOMAIN, rig.clock, ttl_ms)


async def swept(rig: Rig, opened: OpenLog) -> tuple[int, int, int]:
    """Sweep once; returns the numbers of collected objects, orphans and strays."""
    return counts(await sweep_all(sweep_of(rig, opened)))


async def sweep_all(sweep: WalSweep) -> Swept:
    """Run one sweep of each kind."""
    done, strays = await sweep.run(), await sweep.run_strays()
    return Swept(done.collected, done.orphans, strays.strays, done.failed + strays.failed)


def counts(done: Swept) -> tuple[int, int, int]:
    return done.collected, done.orphans, done.strays


def retention_of(
    rig: Rig, opened: OpenLog, policy: RetentionPolicy | Callable[[StreamId], RetentionPolicy]
) -> Retention:
    trimmer = Trimmer(opened.meta, DOMAIN, rig.clock, LogSettings(wal_gc_grace_ms=GRACE_MS))
    policy_of = policy if callable(policy) else lambda _: policy
    return Retention(opened.meta, DOMAIN, trimmer, rig.clock, policy_of)
