"""Writing a stream's producer state down, so that the entries it came from are not needed for it any more."""

from dray.ids import StreamId
from dray.index import encode_head, head_key
from dray.log.plan import with_snapshot
from dray.log.settings import LogSettings
from dray.log.states import read_state
from dray.meta.port import Check, Conflict, Domain, MetaStore, Put
from dray.runtime import Clock


async def write_snapshot(
    meta: MetaStore, domain: Domain, stream: StreamId, clock: Clock, settings: LogSettings
) -> None:
    """Bring the snapshot up to the end of the stream; raises `StreamUnknown` if there is no such stream."""
    while True:
        state = await read_state(meta, domain, stream)
        if state.head.snapshot_end == state.head.high_watermark:
            return
        written, put = with_snapshot(stream, state, clock.now_ms(), settings)
        key = head_key(stream)
        head = Put(key, encode_head(written.head))
        if not isinstance(await meta.commit(domain, [Check(key, state.version)], [put, head]), Conflict):
            return
