"""An object that is committed while the sweep looks at it is no stray, at whatever moment that is."""

from collections.abc import Awaitable, Callable
from typing import cast

import pytest

from dray.ids import WalId
from dray.index import StagingMarker, WalObject, encode_object, object_key, staging_key, wal_path
from dray.meta.port import Delete, Domain, Entry, MetaStore, Put, Write
from dray.sweep import WalSweep
from tests.log.builders import DOMAIN, STORE_DOMAIN, Rig, simulate

_WAL = WalId(bytes(range(16)))
_PATH = wal_path("z", DOMAIN, "2020/01/01", _WAL)


class _Interrupted:
    """A store in which something happens behind the n-th read."""

    def __init__(self, inner: MetaStore, after: int, happening: Callable[[], Awaitable[None]]) -> None:
        self._inner = inner
        self._left = after
        self._happening = happening

    async def get(self, domain: Domain, key: str) -> Entry | None:
        found = await self._inner.get(domain, key)
        self._left -= 1
        if self._left == 0:
            await self._happening()
        return found


@pytest.mark.parametrize("reads", [1, 2, 3])
def test_a_commit_in_the_middle_of_the_look_saves_the_object(reads: int) -> None:
    async def body(rig: Rig) -> None:
        staged = Put(staging_key(DOMAIN, _WAL), encode_object(StagingMarker(_PATH, 0)))
        await rig.meta.commit(STORE_DOMAIN, [], [staged])
        rig.bucket.put_new(_PATH, [b"about to be committed"])

        async def commit() -> None:
            record = encode_object(WalObject(_PATH, 1, 0, 21))
            writes: list[Write] = [Delete(staged.key), Put(object_key(DOMAIN, _WAL), record)]
            await rig.meta.commit(STORE_DOMAIN, [], writes)

        meta = cast("MetaStore", _Interrupted(rig.meta, reads, commit))
        opened = await rig.open()
        await rig.settle(10)
        assert (await WalSweep(meta, opened.objects, DOMAIN, rig.clock, 1).run_strays()).strays == 0
        assert rig.paths() == [_PATH]

    simulate(body)
