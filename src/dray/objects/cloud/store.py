"""The port over obstore: S3, Google Cloud Storage, Azure.

Each call is one request, with adjacent ranges coalesced, and is never retried here; `Retrying` does that.
Buffers are passed in and out without a copy.

*Puts.* Every object is put by one request, because obstore has no condition for the completion of a
multipart upload. No writer comes near the limit of a request: the settings bound WAL objects to 1 GiB and a
request of a producer, objects of a bulk load to 256 MiB, and Parquet files to about 1 GiB.

*Range reads.* obstore accepts a range that ends after the object and returns less. So a short read is
investigated: the object is smaller, or the response was truncated. Ranges are coalesced here, because
obstore's own coalescing panics when a range that starts after the object is merged with one inside.

*Shutdown.* obstore's threads release Python objects shortly after a call has returned. If the interpreter
exits at that moment, the process aborts. So `close` waits for the calls in flight, and then a little longer;
close a store before the event loop ends. obstore's threads do not survive a fork either: open the store in
the process that uses it.

Wart: SeaweedFS lists folder by folder, `a/x` before `a-b`, and applies `after` in that order. Nothing is
missed unless a folder's name is a prefix of a sibling's name that continues with a character before the
slash.
"""

import asyncio
from bisect import bisect_right
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

import obstore
from obstore.exceptions import BaseError
from typing_extensions import Buffer

from dray.objects.cloud.errors import StoreLocation, translate
from dray.objects.paths import check_inside, check_path, check_prefix, check_ranges, folder_of
from dray.objects.port import ByteRange, NotFound, ObjectInfo, StoreUnusable, Unavailable
from dray.runtime import Clock

if TYPE_CHECKING:
    from obstore import ObjectMeta
    from obstore.store import ObjectStore as Obstore

T = TypeVar("T")

_PAGE: Final = 1_000
_GAP_MAX: Final = 256 * 1024
_CALLS_END_S: Final = 10.0
_THREADS_SETTLE_S: Final = 0.1


class CloudObjects:
    """An object store, created by `open_s3`, `open_gcs` or `open_azure`."""

    def __init__(self, store: "Obstore", location: StoreLocation, clock: Clock, put_bytes_max: int) -> None:
        """`put_bytes_max` is the store's limit of one request."""
        self._store = store
        self._location = location
        self._clock = clock
        self._put_bytes_max = put_bytes_max
        self._in_flight = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._used = False
        self._closed = False

    async def put_new(self, path: str, parts: Sequence[Buffer]) -> None:
        check_path(path)
        views = [memoryview(part).cast("B") for part in parts]
        size_bytes = sum(view.nbytes for view in views)
        if size_bytes > self._put_bytes_max:
            raise ValueError(
                f"{path} has {size_bytes} bytes, but one request to {self._location} may put at most "
                f"{self._put_bytes_max}; lower log.flush_bytes or compaction.file_bytes_target"
            )
        put = partial(obstore.put_async, self._store, path, views, mode="create", use_multipart=False)
        await self._call(put, f"put of {path}")

    async def get(self, path: str) -> Buffer:
        check_path(path)
        return await self._call(partial(self._get, path), f"read of {path}")

    async def _get(self, path: str) -> Buffer:
        response = await obstore.get_async(self._store, path)
        whole = await response.bytes_async()
        if len(whole) != response.meta["size"]:
            raise Unavailable(f"read of {path}: {len(whole)} of {response.meta['size']} bytes received")
        return whole

    async def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[Buffer]:
        check_path(path)
        check_ranges(ranges)
        if not ranges:
            return []
        spans = merge_ranges(ranges, _GAP_MAX)
        starts, lengths = [span.start for span in spans], [span.length for span in spans]
        read = partial(
            obstore.get_ranges_async, self._store, path, starts=starts, lengths=lengths, coalesce=0
        )
        got = await self._call(read, f"read of {path}")
        for span, buffer in zip(spans, got, strict=True):
            if len(buffer) != span.length:
                check_inside(path, ranges, (await self.head(path)).size_bytes)
                raise Unavailable(f"read of {path}: {len(buffer)} of {span.length} bytes received")
        return cut_ranges(ranges, spans, got)

    async def head(self, path: str) -> ObjectInfo:
        check_path(path)
        operation = f"head of {path}"
        try:
            return _info(await self._call(partial(obstore.head_async, self._store, path), operation))
        except NotFound:
            # A response to HEAD has no body that distinguishes a missing object from a missing bucket.
            return _info((await self._call(partial(obstore.get_async, self._store, path), operation)).meta)

    async def list(self, prefix: str, after: str = "") -> AsyncIterator[ObjectInfo]:
        check_prefix(prefix)
        folder = folder_of(prefix).removesuffix("/")
        offset = after if _is_path(after) else None
        pages = obstore.list(self._store, folder or None, offset=offset, chunk_size=_PAGE)
        while (page := await self._call(partial(anext, pages, None), f"list of {prefix}")) is not None:
            for meta in page:
                info = _info(meta)
                if info.path.startswith(prefix):
                    if info.path > after:
                        yield info
                elif info.path > prefix:
                    return

    async def delete(self, path: str) -> None:
        check_path(path)
        try:
            await self._call(partial(obstore.delete_async, self._store, path), f"delete of {path}")
        except NotFound:
            return

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        try:
            async with asyncio.timeout(_CALLS_END_S):
                await self._idle.wait()
        except TimeoutError:
            pass  # a hanging call is abandoned
        if self._used:
            await self._clock.sleep(_THREADS_SETTLE_S)

    async def _call(self, request: Callable[[], Awaitable[T]], operation: str) -> T:
        if self._closed:
            raise StoreUnusable(f"{operation}: the object store {self._location} has been closed")
        self._used = True
        self._in_flight += 1
        self._idle.clear()
        try:
            return await request()
        except (BaseError, OSError) as error:
            # Not chained: the text of the error may contain a signed URL.
            raise translate(error, self._location, operation) from None
        finally:
            self._in_flight -= 1
            if not self._in_flight:
                self._idle.set()


def _info(meta: "ObjectMeta") -> ObjectInfo:
    # Listings of Google contain milliseconds, responses to HEAD do not.
    return ObjectInfo(meta["path"], meta["size"], int(meta["last_modified"].timestamp()) * 1000)


def _is_path(text: str) -> bool:
    try:
        check_path(text)
    except ValueError:
        return False
    return True


def merge_ranges(ranges: Sequence[ByteRange], gap_max: int) -> list[ByteRange]:
    """Return sorted, disjoint spans that cover `ranges`; ranges at most `gap_max` apart share a span."""
    spans: list[ByteRange] = []
    for wanted in sorted(ranges, key=lambda each: each.start):
        if spans and wanted.start - spans[-1].end <= gap_max:
            start = spans[-1].start
            spans[-1] = ByteRange(start, max(spans[-1].end, wanted.end) - start)
        else:
            spans.append(wanted)
    return spans


def cut_ranges(
    ranges: Sequence[ByteRange], spans: Sequence[ByteRange], fetched: Sequence[Buffer]
) -> list[Buffer]:
    """Return a view of each range, in the requested order, into the spans of `merge_ranges`."""
    starts = [span.start for span in spans]
    views = [memoryview(buffer) for buffer in fetched]
    cut: list[Buffer] = []
    for wanted in ranges:
        at = bisect_right(starts, wanted.start) - 1
        offset = wanted.start - starts[at]
        cut.append(views[at][offset : offset + wanted.length])
    return cut
