"""Crash at every step of a trim or deletion, and repair by the sweep."""

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from dray.keyspace import head_key
from dray.log import LogSettings, Trimmer
from dray.meta.memory import MemoryMetaStore
from dray.runtime import Tasks
from dray.sweep import Retention, RetentionPolicy, WalSweep
from dray.testing.entropy import SeededEntropy
from dray.testing.faulty_link import FaultyLink, FaultyLinkSettings
from dray.testing.nodes import Node, NodeCrashed
from dray.testing.virtual_loop import run
from tests.log.builders import DOMAIN, ONE, STORE_DOMAIN, TWO, Rig, outcomes

_SLOW = FaultyLinkSettings(refused=0, request_lost=0, answer_lost=0, late=0)
_STEPS_MAX = 60
_TRIM_TO = 70


class _CrashAt:
    """Crashes a node at its k-th step."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.node: Node | None = None

    def on_step(self, node: Node | None) -> None:
        if node is not None and node is self.node and node.steps == self.at:
            node.crash()


def _trimmer(rig: Rig) -> Trimmer:
    """Return a trimmer with slow requests, so that it can crash before and after each."""
    link = FaultyLink(SeededEntropy("link"), _SLOW)
    meta = MemoryMetaStore(rig.server, rig.clock, SeededEntropy("ids"), tasks=Tasks(), link=link)
    return Trimmer(meta, DOMAIN, rig.clock, LogSettings(wal_gc_grace_ms=0))


async def _prepared(rig: Rig) -> None:
    """Write forty objects of two streams, with a producer whose state depends on entries to be removed."""
    opened = await rig.open()
    for sequence in range(40):
        await outcomes(
            await opened.send("x", ONE, producer_id=7, epoch=0, sequence=2 * sequence, records=2),
            await opened.send("y", TWO),
        )
    await opened.log.close()


async def _sweep(rig: Rig, objects: Any) -> None:
    trimmer = Trimmer(rig.meta, DOMAIN, rig.clock, LogSettings(wal_gc_grace_ms=0))
    await Retention(rig.meta, DOMAIN, trimmer, rig.clock, lambda _: RetentionPolicy()).run()
    await WalSweep(rig.meta, objects, DOMAIN, rig.clock, 1 << 40).run()


def _crash_at_every_step(
    work: Callable[[Trimmer], Coroutine[Any, Any, object]],
    check: Callable[[Rig, bool], Coroutine[Any, Any, None]],
) -> int:
    """Return the number of steps that the work takes without a crash."""
    for at in range(1, _STEPS_MAX):
        crash = _CrashAt(at)
        if run(_one_crash(crash, work, check), on_step=crash.on_step):
            return at
    raise AssertionError("the work never completed")


async def _one_crash(
    crash: _CrashAt,
    work: Callable[[Trimmer], Coroutine[Any, Any, object]],
    check: Callable[[Rig, bool], Coroutine[Any, Any, None]],
) -> bool:
    rig = Rig()
    await _prepared(rig)
    crash.node = Node("trimmer")
    finished = True
    try:
        await crash.node.run(work(_trimmer(rig)))
    except NodeCrashed:
        finished = False
    await rig.settle()
    survivor = rig.make("survivor")
    await _sweep(rig, survivor.objects)
    await _agree(rig)
    await check(rig, finished)
    return finished


async def _agree(rig: Rig) -> None:
    """Check that index, references and bucket agree."""
    paths = [entry.wal_path for stream in (ONE, TWO) for entry in await rig.wal_entries(stream)]
    assert {record.path: record.references for record in await rig.committed()} == {
        path: paths.count(path) for path in paths
    }
    assert sorted(set(paths)) == rig.paths()
    assert await rig.pending_deletion() == []


async def _trimmed_or_not(rig: Rig, finished: bool) -> None:
    head, entries = await rig.head(), await rig.wal_entries()
    assert head.log_start in ((_TRIM_TO,) if finished else (0, _TRIM_TO))
    assert entries[0].start_offset == head.log_start
    assert len(await rig.wal_entries(TWO)) == 40
    opened = await rig.open("after")
    assert (await opened.append("x", producer_id=7, epoch=0, sequence=78, records=2)).duplicate
    assert (await opened.append("x", producer_id=7, epoch=0, sequence=80)).base_offset == 80


async def _deleted_or_not(rig: Rig, finished: bool) -> None:
    deleted = await rig.meta.get(STORE_DOMAIN, head_key(ONE)) is None
    assert deleted or not finished
    assert len(await rig.wal_entries(ONE)) == (0 if deleted else 40)
    assert len(await rig.wal_entries(TWO)) == 40


@pytest.mark.parametrize(
    ("work", "check"),
    [
        (lambda trimmer: trimmer.trim(ONE, _TRIM_TO), _trimmed_or_not),
        (lambda trimmer: trimmer.delete(ONE), _deleted_or_not),
    ],
    ids=["trim", "delete"],
)
def test_sweep_repairs_a_crash_at_any_step(work: Any, check: Any) -> None:
    assert _crash_at_every_step(work, check) > 10
