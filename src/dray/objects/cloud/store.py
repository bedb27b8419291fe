"""The port over an obstore store: S3, Google Cloud Storage, Azure.

Each call is one request (ranges that lie close together are fetched as one) and is never tried again here;
`Retrying` does that. Buffers go in and out without a copy.

*Range reads.* obstore does not mind a range that ends behind the object and hands out less. So what comes
short is looked into: the object is smaller, or the answer was torn. We merge ranges ourselves, as obstore's
own merging panics when a range that starts behind the object is merged with one inside.

*The end.* obstore's threads still let go of Python objects a moment after a call has returned. If the
interpreter ends in that moment, the process aborts. So `close` waits for the calls under way, and then a
little more; close a store before the event loop ends. Nor do obstore's threads survive a fork: open the store
in the process that uses it.

Wart: SeaweedFS lists folder by folder, `a/x` before `a-b`, and `after` counts in that order. Nothing is
missed where no folder's name is the start of a sibling's, up to a character that sorts before the slash.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

import obstore
from obstore.exceptions import BaseError
from typing_extensions import Buffer

from dray.objects.cloud.errors import Place, translate
from dray.objects.cloud.spans import cut_ranges, merge_ranges
from dray.objects.paths import check_inside, check_path, check_prefix, check_ranges, folder_of
from dray.objects.port import ByteRange, NotFound, ObjectInfo, StoreUnusable, Unavailable
from dray.runtime import Clock

if TYPE_CHECKING:
    from obstore import ObjectMeta
    from obstore.store import ObjectStore as Obstore

T = TypeVar("T")

PUT_BYTES_MAX: Final = 5 * 1024**3
"""S3 takes no more in one request; GCS and Azure take as much."""

_PAGE: Final = 1_000
_GAP_MAX: Final = 256 * 1024
_CALLS_END_S: Final = 10.0
_THREADS_SETTLE_S: Final = 0.1


class CloudObjects:
    """Made by `open_s3`, `open_gcs` or `open_azure`."""

    def __init__(self, store: "Obstore", place: Place, clock: Clock) -> None:
        self._store = store
        self._place = place
        self._clock = clock
        self._under_way = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._used = False
        self._closed = False

    async def put_new(self, path: str, parts: Sequence[Buffer]) -> None:
        check_path(path)
        views = [memoryview(part).cast("B") for part in parts]
        size_bytes = sum(view.nbytes for view in views)
        if size_bytes > PUT_BYTES_MAX:
            raise ValueError(
                f"{path}: {size_bytes} bytes are too many for one object, at most {PUT_BYTES_MAX}"
            )
        put = partial(obstore.put_async, self._store, path, views, mode="create", use_multipart=False)
        await self._call(put, f"put of {path}")

    async def get(self, path: str) -> Buffer:
        check_path(path)
        return await self._call(partial(self._get, path), f"read of {path}")

    async def _get(self, path: str) -> Buffer:
        answer = await obstore.get_async(self._store, path)
        whole = await answer.bytes_async()
        if len(whole) != answer.meta["size"]:
            raise Unavailable(f"read of {path}: {len(whole)} of {answer.meta['size']} bytes came")
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
                raise Unavailable(f"read of {path}: {len(buffer)} of {span.length} bytes came")
        return cut_ranges(ranges, spans, got)

    async def head(self, path: str) -> ObjectInfo:
        check_path(path)
        what = f"head of {path}"
        try:
            return _info(await self._call(partial(obstore.head_async, self._store, path), what))
        except NotFound:
            # An answer to HEAD has no body to say whether the object or the bucket is missing; a GET's has.
            return _info((await self._call(partial(obstore.get_async, self._store, path), what)).meta)

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
            pass  # whoever still waits for the store is on his own
        if self._used:
            await self._clock.sleep(_THREADS_SETTLE_S)

    async def _call(self, request: Callable[[], Awaitable[T]], what: str) -> T:
        if self._closed:
            raise StoreUnusable(f"{what}: the object store {self._place} has been closed")
        self._used = True
        self._under_way += 1
        self._idle.clear()
        try:
            return await request()
        except (BaseError, OSError) as error:
            # Not chained: the text of the error may hold a signed URL.
            raise translate(error, self._place, what) from None
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._idle.set()


def _info(meta: "ObjectMeta") -> ObjectInfo:
    return ObjectInfo(meta["path"], meta["size"], int(meta["last_modified"].timestamp() * 1000))


def _is_path(text: str) -> bool:
    try:
        check_path(text)
    except ValueError:
        return False
    return True
