"""The port over a directory.

The blocking calls run in threads that the store owns, `threads` at most. A caller that is cancelled
leaves its call running to the end: a put then happens or not, as after `Unavailable`.

The directory must exist: making it here would hide a disk that was not mounted. Several processes may
share it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any, Final, TypeVar

from typing_extensions import Buffer

from dray.objects.local import errors, read, temp, walk
from dray.objects.local.write import Writer
from dray.objects.paths import check_path, check_prefix, check_ranges, folder_of
from dray.objects.port import ByteRange, ObjectError, ObjectInfo, StoreUnusable

T = TypeVar("T")
_Translate = Callable[[OSError, Path, str], ObjectError]

_STATS_AT_ONCE: Final = 256


@dataclass(frozen=True, slots=True)
class LocalSettings:
    """How a directory is used."""

    threads: int = 8


_USUAL: Final = LocalSettings()


class LocalObjects:
    """Made by `open`; `close` ends its threads and lets go of its temp folder."""

    def __init__(self, root: Path, own_temp: temp.TempFolder, pool: ThreadPoolExecutor) -> None:
        self._root = root
        self._temp = own_temp
        self._writer = Writer(root, own_temp)
        self._pool = pool
        self._under_way: set[Future[Any]] = set()
        self._closed = False

    @classmethod
    async def open(cls, root: Path, settings: LocalSettings = _USUAL) -> "LocalObjects":
        """Claim a temp folder and sweep those of dead processes."""
        pool = ThreadPoolExecutor(settings.threads, thread_name_prefix="dray-objects")
        try:
            own_temp = await asyncio.get_running_loop().run_in_executor(pool, _prepare, root)
        except OSError as error:
            pool.shutdown(wait=False)
            raise errors.of_store(error, root, "") from error
        return cls(root, own_temp, pool)

    async def put_new(self, path: str, parts: Sequence[Buffer]) -> None:
        check_path(path)
        await self._run(partial(self._writer.put_new, path, parts), path, errors.of_store)

    async def get(self, path: str) -> Buffer:
        check_path(path)
        return await self._run(partial(read.read_whole, self._root, path), path, errors.of_read)

    async def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[Buffer]:
        check_path(path)
        check_ranges(ranges)
        return await self._run(partial(read.read_ranges, self._root, path, ranges), path, errors.of_read)

    async def head(self, path: str) -> ObjectInfo:
        check_path(path)
        return await self._run(partial(read.info_of, self._root, path), path, errors.of_read)

    async def list(self, prefix: str, after: str = "") -> AsyncIterator[ObjectInfo]:
        check_prefix(prefix)
        pending = [folder_of(prefix)]
        while pending:
            if _is_folder(pending[-1]):
                scan = partial(walk.children, self._root, pending.pop(), prefix, after)
                pending += reversed(await self._run(scan, prefix, errors.of_store))
                continue
            files = list(takewhile(lambda path: not _is_folder(path), reversed(pending[-_STATS_AT_ONCE:])))
            del pending[-len(files) :]
            stat = partial(walk.infos, self._root, files)
            for info in await self._run(stat, prefix, errors.of_store):
                yield info

    async def delete(self, path: str) -> None:
        check_path(path)
        await self._run(partial(_unlink, self._root, path), path, errors.of_store)

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self._under_way:
            await asyncio.wait([asyncio.wrap_future(call) for call in tuple(self._under_way)])
        await asyncio.get_running_loop().run_in_executor(self._pool, self._temp.close)
        self._pool.shutdown()

    async def _run(self, work: Callable[[], T], path: str, translate: _Translate) -> T:
        if self._closed:
            raise StoreUnusable(f"the object store on {self._root} has been closed")
        call = self._pool.submit(work)
        self._under_way.add(call)
        call.add_done_callback(self._under_way.discard)
        try:
            return await asyncio.wrap_future(call)
        except OSError as error:
            raise translate(error, self._root, path) from error


def _is_folder(path: str) -> bool:
    return not path or path.endswith("/")


def _prepare(root: Path) -> temp.TempFolder:
    own_temp = temp.claim(root)
    temp.sweep(root)
    return own_temp


def _unlink(root: Path, path: str) -> None:
    try:
        (root / path).unlink()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        if not root.is_dir():
            raise
