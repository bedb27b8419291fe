"""The port over a directory.

Ranges in the page cache are read in the event loop. All other blocking calls run in at most `threads`
threads. The call of a cancelled caller runs to its end: a put then happens or not, as after `Unavailable`.
`close` waits for it.

The directory must exist: creating it here would hide a disk that is not mounted. Several processes may share
it.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Final, TypeVar

from typing_extensions import Buffer

from dray.objects.local import errors, listing, read, temp
from dray.objects.local.page_cache import PageCacheReader
from dray.objects.local.write import Writer
from dray.objects.paths import check_path, check_prefix, check_ranges, folder_of
from dray.objects.port import ByteRange, ObjectError, ObjectInfo, StoreUnusable
from dray.runtime import Threads, ThreadsStopped

T = TypeVar("T")
_Translate = Callable[[OSError, Path, str], ObjectError]

_STATS_AT_ONCE: Final = 256
_PATIENCE_S: Final = 10.0
"""A read from a dead mount must not keep the process alive."""


@dataclass(frozen=True, slots=True)
class LocalSettings:
    """Settings of a store in a directory."""

    threads: int = 8


_DEFAULT: Final = LocalSettings()


class LocalObjects:
    """An object store, created by `open`; `close` ends its threads and releases its temp folder."""

    def __init__(self, root: Path, own_temp: temp.TempFolder, threads: Threads) -> None:
        self._root = root
        self._temp = own_temp
        self._writer = Writer(root, own_temp)
        self._page_cache = PageCacheReader(root)
        self._threads = threads
        self._closed = False

    @classmethod
    async def open(cls, root: Path, settings: LocalSettings = _DEFAULT) -> "LocalObjects":
        """Claim a temp folder and sweep those of dead processes."""
        threads = Threads("dray-objects", settings.threads)
        try:
            own_temp = await threads.run(_prepare, root)
        except OSError as error:
            await threads.stop()
            raise errors.of_store(error, root, "") from error
        return cls(root, own_temp, threads)

    async def put_new(self, path: str, parts: Sequence[Buffer]) -> None:
        check_path(path)
        await self._run(partial(self._writer.put_new, path, parts), path, errors.of_store)

    async def get(self, path: str) -> Buffer:
        check_path(path)
        return await self._run(partial(read.read_whole, self._root, path), path, errors.of_read)

    async def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[Buffer]:
        check_path(path)
        check_ranges(ranges)
        cached = None if self._closed else self._page_cache.read(path, ranges)
        if cached is not None:
            return cached
        return await self._run(partial(read.read_ranges, self._root, path, ranges), path, errors.of_read)

    async def head(self, path: str) -> ObjectInfo:
        check_path(path)
        return await self._run(partial(read.info_of, self._root, path), path, errors.of_read)

    async def list(self, prefix: str, after: str = "") -> AsyncIterator[ObjectInfo]:
        check_prefix(prefix)
        pending = [folder_of(prefix)]
        while pending:
            if _is_folder(pending[-1]):
                scan = partial(listing.list_folder, self._root, pending.pop(), prefix, after)
                pending += reversed(await self._run(scan, prefix, errors.of_store))
                continue
            files = list(takewhile(lambda path: not _is_folder(path), reversed(pending[-_STATS_AT_ONCE:])))
            del pending[-len(files) :]
            stat = partial(listing.infos, self._root, files)
            for info in await self._run(stat, prefix, errors.of_store):
                yield info

    async def delete(self, path: str) -> None:
        check_path(path)
        await self._run(partial(_unlink, self._root, path), path, errors.of_store)

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        await self._threads.stop(_PATIENCE_S)
        self._temp.close()  # an empty folder, because every put has removed its file

    async def _run(self, work: Callable[[], T], path: str, translate: _Translate) -> T:
        try:
            return await self._threads.run(work)
        except ThreadsStopped:
            raise StoreUnusable(f"the object store on {self._root} has been closed") from None
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
