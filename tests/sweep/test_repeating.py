"""Sweeps after a store failure: the next sweep completes whatever an interrupted one left."""

from collections.abc import Callable
from typing import TypeVar

import pytest

from dray.meta.memory import DirectLink
from dray.meta.port import MetaError, Unavailable
from dray.objects.port import Unavailable as ObjectsAway
from dray.sweep import RetentionPolicy
from tests.log.builders import ONE, TWO, OpenLog, Rig, outcomes, simulate
from tests.sweep.builders import TTL_MS, retention_of, sweep_all, sweep_of

T = TypeVar("T")
_CALLS_MAX = 60


class _FailingLink(DirectLink):
    """Refuses the k-th request, or loses its response."""

    def __init__(self, at: int, *, lose_response: bool) -> None:
        self.left = at
        self.lose_response = lose_response

    async def call(self, request: Callable[[], T]) -> T:
        self.left -= 1
        if self.left:
            return await super().call(request)
        if self.lose_response:
            request()
        raise _RetriesExhausted("failed by the test")


class _RetriesExhausted(MetaError):
    """The error of an adapter that has exhausted its retries, so that callers do not retry either."""


async def _prepared(rig: Rig) -> OpenLog:
    """Return a log with live objects, some that retention will expire, one orphan and one stray."""
    opened = await rig.open(staging_markers_ahead=1, tail_cache_bytes_max=0)
    for tag in "abc":
        await outcomes(await opened.send(tag, ONE), await opened.send(tag, TWO))
    orphan = await opened.log._domains[0].writer._uploader.reservations.take()
    rig.bucket.put_new(orphan.path, [b"orphan"])
    rig.bucket.put_new(f"{rig.paths()[0][:-35]}{bytes(16).hex()}.wo", [b"stray"])
    await rig.settle(2 * TTL_MS / 1000)
    await outcomes(await opened.send("young", ONE), await opened.send("young", TWO))
    return opened


async def _work(rig: Rig, opened: OpenLog) -> None:
    policy = RetentionPolicy(retention_ms=TTL_MS)
    await retention_of(rig, opened, policy).run()
    await rig.settle(6)
    await sweep_all(sweep_of(rig, opened))


async def _check_finished(rig: Rig, opened: OpenLog) -> None:
    assert [record.references for record in await rig.committed()] == [2]
    assert rig.paths() == [record.path for record in await rig.committed()]
    assert await rig.pending_deletion() == []
    assert await rig.staged() == []
    for stream in (ONE, TWO):
        assert [tag for *_, tag in await opened.tags(stream, 3)] == ["young"]


@pytest.mark.parametrize("lose_response", [False, True])
def test_sweep_completes_after_a_metadata_failure_at_any_request(lose_response: bool) -> None:
    worked: list[bool] = []

    async def body(rig: Rig) -> None:
        opened = await _prepared(rig)
        link, opened.meta._link = (
            opened.meta._link,
            _FailingLink(len(worked) + 1, lose_response=lose_response),
        )
        try:
            await _work(rig, opened)
            worked.append(True)
        except (_RetriesExhausted, Unavailable):
            worked.append(False)
        opened.meta._link = link
        await _work(rig, opened)
        await _check_finished(rig, opened)

    while True not in worked:
        assert len(worked) < _CALLS_MAX
        simulate(body)
    assert len(worked) > 15


def test_sweep_completes_after_an_object_store_failure_at_any_deletion() -> None:
    worked: list[bool] = []

    async def body(rig: Rig) -> None:
        opened = await _prepared(rig)
        kept, left = opened.objects.delete, len(worked)

        async def delete(path: str) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise ObjectsAway("failed by the test")
            await kept(path)

        opened.objects.delete = delete  # type: ignore[method-assign]
        await _work(rig, opened)
        worked.append(left >= 0)
        opened.objects.delete = kept  # type: ignore[method-assign]
        await _work(rig, opened)
        await _check_finished(rig, opened)

    while True not in worked:
        assert len(worked) < _CALLS_MAX
        simulate(body)
    assert len(worked) == 6, "three expired by retention, one orphan, one stray, and none left to fail"
