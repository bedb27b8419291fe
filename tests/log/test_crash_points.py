"""A process dies at its k-th step while it trims or deletes, for every k; the sweep repairs what it left."""

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from dray.index import head_key
from dray.log import LogSettings, Trimmer
from dray.meta.memory import MemoryMetaStore
from dray.runtime import SeededEntropy, Tasks
from dray.sweep import Retention, RetentionPolicy, WalSweep
from dray.testing.faulty_link import FaultyLink, FaultyLinkSettings
from dray.testing.nodes import Node, NodeCrashed
from dray.testing.virtual_loop import run
from tests.log.builders import DOMAIN, ONE, STORE_DOMAIN, TWO, Rig, outcomes

_SLOW = FaultyLinkSettings(refused=0, request_lost=0, answer_lost=0, late=0)
_STEPS_MAX = 60
_TRIM_TO = 70


class _Doomed:
    """Crashes a node at its k-th step."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.node: Node | None = None

    def on_step(self, node: Node | None) -> None:
        if node is not None and node is self.node and node.steps == self.at:
            node.crash()


def _trimmer(rig: Rig) -> Trimmer:
    """A trimmer whose every request takes a while, so that it can die before and after each."""
    link = FaultyLink(SeededEntropy("link"), _SLOW)
    meta = MemoryMetaStore(rig.server, link, rig.clock, SeededEntropy("ids"), tasks=Tasks())
    return Trimmer(meta, STORE_DOMAIN, DOMAIN, rig.clock, LogSettings(wal_gc_grace_ms=0))


async def _prepared(rig: Rig) -> None:
    """Forty objects of two streams, and a producer whose state rests on entries that will go."""
    opened = await rig.open()
    for sequence in range(40):
        await outcomes(
            await opened.send("x", ONE, producer_id=7, epoch=0, sequence=2 * sequence, records=2),
            await opened.send("y", TWO),
        )
    await opened.log.close()


async def _sweep(rig: Rig, objects: Any) -> None:
    trimmer = Trimmer(rig.meta, STORE_DOMAIN, DOMAIN, rig.clock, LogSettings(wal_gc_grace_ms=0))
    await Retention(rig.meta, DOMAIN, trimmer, rig.clock, lambda _: RetentionPolicy()).run()
    await WalSweep(rig.meta, objects, DOMAIN, rig.clock, 1 << 40).run()


def _die_at_every_step(
    work: Callable[[Trimmer], Coroutine[Any, Any, object]],
    check: Callable[[Rig, bool], Coroutine[Any, Any, None]],
) -> int:
    """Return how many steps the work takes when it is let."""
    for at in range(1, _STEPS_MAX):
        doomed = _Doomed(at)
        if run(_one_death(doomed, work, check), on_step=doomed.on_step):
            return at
    raise AssertionError("the work never came to its end")


async def _one_death(
    doomed: _Doomed,
    work: Callable[[Trimmer], Coroutine[Any, Any, object]],
    check: Callable[[Rig, bool], Coroutine[Any, Any, None]],
) -> bool:
    rig = Rig()
    await _prepared(rig)
    doomed.node = Node("trimmer")
    finished = True
    try:
        await doomed.node.run(work(_trimmer(rig)))
    except NodeCrashed:
        finished = False
    await rig.settle()
    survivor = rig.make("survivor")
    await _sweep(rig, survivor.objects)
    await _agree(rig)
    await check(rig, finished)
    return finished


async def _agree(rig: Rig) -> None:
    """Index, references and bucket tell the same."""
    paths = [entry.wal_path for stream in (ONE, TWO) for entry in await rig.wal_entries(stream)]
    assert {record.path: record.references for record in await rig.committed()} == {
        path: paths.count(path) for path in paths
    }
    assert sorted(set(paths)) == rig.paths()
    assert await rig.doomed() == []


async def _trimmed_or_not(rig: Rig, finished: bool) -> None:
    head, entries = await rig.head(), await rig.wal_entries()
    assert head.log_start in ((_TRIM_TO,) if finished else (0, _TRIM_TO))
    assert entries[0].start_offset == head.log_start
    assert len(await rig.wal_entries(TWO)) == 40
    opened = await rig.open("after")
    assert (await opened.append("x", producer_id=7, epoch=0, sequence=78, records=2)).duplicate
    assert (await opened.append("x", producer_id=7, epoch=0, sequence=80)).base_offset == 80


async def _deleted_or_not(rig: Rig, finished: bool) -> None:
    gone = await rig.meta.get(STORE_DOMAIN, head_key(ONE)) is None
    assert gone or not finished
    assert len(await rig.wal_entries(ONE)) == (0 if gone else 40)
    assert len(await rig.wal_entries(TWO)) == 40


@pytest.mark.parametrize(
    ("work", "check"),
    [
        (lambda trimmer: trimmer.trim(ONE, _TRIM_TO), _trimmed_or_not),
        (lambda trimmer: trimmer.delete(ONE), _deleted_or_not),
    ],
    ids=["trim", "delete"],
)
def test_whatever_step_it_dies_at_the_sweep_repairs_it(work: Any, check: Any) -> None:
    assert _die_at_every_step(work, check) > 10
