"""A commit during the stray check: its object is kept, whichever read the commit follows."""

from collections.abc import Awaitable, Callable
from typing import cast

import pytest

from dray.ids import Domain, WalId
from dray.index import StagingMarker, WalObject, encode_object, wal_path
from dray.keyspace import staging_key, wal_object_key
from dray.meta.port import Delete, Entry, MetaStore, Put, Write
from dray.sweep import WalSweep
from tests.log.builders import DOMAIN, STORE_DOMAIN, Rig, simulate

_WAL = WalId(bytes(range(16)))
_PATH = wal_path("z", DOMAIN, "2020/01/01", _WAL)


class _Interrupted:
    """A metadata store that runs `action` after the n-th read."""

    def __init__(self, inner: MetaStore, after: int, action: Callable[[], Awaitable[None]]) -> None:
        self._inner = inner
        self._left = after
        self._action = action

    async def get(self, domain: Domain, key: str) -> Entry | None:
        found = await self._inner.get(domain, key)
        self._left -= 1
        if self._left == 0:
            await self._action()
        return found


@pytest.mark.parametrize("reads", [1, 2, 3])
def test_commit_during_the_stray_check_keeps_the_object(reads: int) -> None:
    async def body(rig: Rig) -> None:
        staged = Put(staging_key(DOMAIN, _WAL), encode_object(StagingMarker(_PATH, 0)))
        await rig.meta.commit(STORE_DOMAIN, [], [staged])
        rig.bucket.put_new(_PATH, [b"about to be committed"])

        async def commit() -> None:
            record = encode_object(WalObject(_PATH, 1, 0, 21))
            writes: list[Write] = [Delete(staged.key), Put(wal_object_key(DOMAIN, _WAL), record)]
            await rig.meta.commit(STORE_DOMAIN, [], writes)

        meta = cast("MetaStore", _Interrupted(rig.meta, reads, commit))
        opened = await rig.open()
        await rig.settle(10)
        assert (await WalSweep(meta, opened.objects, DOMAIN, rig.clock, 1).run_strays()).strays == 0
        assert rig.paths() == [_PATH]

    simulate(body)
