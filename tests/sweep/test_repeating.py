"""A store that fails in the middle of a sweep leaves nothing that the next one cannot finish."""

from collections.abc import Callable
from typing import TypeVar

import pytest

from dray.meta.port import MetaError, Unavailable
from dray.objects.port import Unavailable as ObjectsAway
from dray.sweep import RetentionPolicy
from tests.log.builders import ONE, TWO, ObedientLink, OpenLog, Rig, outcomes, simulate
from tests.sweep.builders import TTL_MS, everything, retention_of, sweep_of

T = TypeVar("T")
_CALLS_MAX = 60


class _Failing(ObedientLink):
    """Refuses the k-th request, or loses its answer."""

    def __init__(self, at: int, *, lose_answer: bool) -> None:
        super().__init__()
        self.left = at
        self.lose_answer = lose_answer

    async def call(self, request: Callable[[], T]) -> T:
        self.left -= 1
        if self.left:
            return await super().call(request)
        if self.lose_answer:
            request()
        raise _GivenUp("failed by the test")


class _GivenUp(MetaError):
    """As when the adapter has tried for long enough; nobody tries again."""


async def _prepared(rig: Rig) -> OpenLog:
    """Live objects, some that retention will give up, one orphan, one stray."""
    opened = await rig.open(reservations=1, recent_bytes_max=0)
    for tag in "abc":
        await outcomes(await opened.send(tag, ONE), await opened.send(tag, TWO))
    orphan = await opened.log._domains[0].writer._parts.reservations.take()
    rig.bucket.put_new(orphan.path, [b"orphan"])
    rig.bucket.put_new(f"{rig.paths()[0][:-35]}{bytes(16).hex()}.wo", [b"stray"])
    await rig.settle(2 * TTL_MS / 1000)
    await outcomes(await opened.send("young", ONE), await opened.send("young", TWO))
    return opened


async def _work(rig: Rig, opened: OpenLog) -> None:
    policy = RetentionPolicy(retention_ms=TTL_MS)
    await retention_of(rig, opened, policy).run()
    await rig.settle(6)
    await everything(sweep_of(rig, opened))


async def _check_finished(rig: Rig, opened: OpenLog) -> None:
    assert [record.references for record in await rig.committed()] == [2]
    assert rig.paths() == [record.path for record in await rig.committed()]
    assert await rig.doomed() == []
    assert await rig.staged() == []
    for stream in (ONE, TWO):
        assert [tag for *_, tag in await opened.tags(stream, 3)] == ["young"]


@pytest.mark.parametrize("lose_answer", [False, True])
def test_a_metadata_store_that_fails_at_any_request(lose_answer: bool) -> None:
    worked: list[bool] = []

    async def body(rig: Rig) -> None:
        opened = await _prepared(rig)
        link, opened.meta._link = opened.meta._link, _Failing(len(worked) + 1, lose_answer=lose_answer)
        try:
            await _work(rig, opened)
            worked.append(True)
        except (_GivenUp, Unavailable):
            worked.append(False)
        opened.meta._link = link
        await _work(rig, opened)
        await _check_finished(rig, opened)

    while True not in worked:
        assert len(worked) < _CALLS_MAX
        simulate(body)
    assert len(worked) > 15


def test_an_object_store_that_fails_at_any_deletion() -> None:
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
    assert len(worked) == 6, "three given up by retention, one orphan, one stray, and none left to fail"
