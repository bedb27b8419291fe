"""Compaction of etcd's history, which would otherwise grow forever.

Like Kubernetes' API server: the clients agree by one key. Each remembers the key's version and the current
revision, waits for an interval, and then tries to replace the key. The winner compacts to the revision that
it remembered, which is an interval old by its own clock; the others remember the present and wait again. So
there is about one compaction per interval, whatever the number of clients, and never of anything younger.
"""

from typing import Final

from dray.meta.etcd import api_pb2 as api
from dray.meta.etcd.calls import COMPACT, TXN
from dray.meta.etcd.endpoints import Endpoints
from dray.meta.etcd.errors import Compacted, PermissionDenied
from dray.meta.etcd.keys import Layout
from dray.meta.port import MetaError
from dray.observe import get_logger
from dray.runtime import Clock

_log: Final = get_logger("meta")


class HistoryCompactor:
    """One client's part in the agreement."""

    def __init__(self, endpoints: Endpoints, layout: Layout, clock: Clock, keep_ms: float) -> None:
        self._endpoints = endpoints
        self._key = layout.compaction
        self._clock = clock
        self._keep_s = keep_ms / 1000
        self._version = 0
        """The version of the key that this client has seen."""
        self._revision = 0
        """The revision that was current then."""

    async def run(self) -> None:
        """Compact once per interval, until cancelled."""
        while True:
            try:
                await self.step()
            except PermissionDenied as error:
                _log.warning("history_not_compacted", error=str(error))
                return
            except MetaError as error:
                _log.debug("history_compaction_failed", error=str(error))
            await self._clock.sleep(self._keep_s)

    async def step(self) -> None:
        """Replace the key; if no other client has, compact to the revision of the previous step."""
        old = self._revision
        same = api.Compare(target=api.Compare.VERSION, key=self._key, version=self._version)
        put = api.RequestOp(request_put=api.PutRequest(key=self._key, value=b"%d" % old))
        read = api.RequestOp(request_range=api.RangeRequest(key=self._key))
        # One attempt: if its response is lost, the key looks as if another client had won.
        response = await self._endpoints.call(
            TXN, api.TxnRequest(compare=[same], success=[put], failure=[read])
        )
        self._revision = response.header.revision
        if not response.succeeded:
            kvs = response.responses[0].response_range.kvs
            self._version = kvs[0].version if kvs else 0
            return
        self._version += 1
        if old:
            await self._compact(old)

    async def _compact(self, revision: int) -> None:
        try:
            await self._endpoints.repeat(COMPACT, api.CompactionRequest(revision=revision))
        except Compacted:
            return
        _log.debug("history_compacted", revision=revision)
