"""The port over a directory.

What the kernel holds in memory is read at once. All other blocking calls run in threads that the store owns,
`threads` at most. A caller that is cancelled
leaves its call running to the end: a put then happens or not, as after `Unavailable`. `close` waits for it.

The directory must exist: making it here would hide a disk that was not mounted. Several processes may
share it.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Final, TypeVar

from typing_extensions import Buffer

from dray.objects.local import errors, read, temp, walk
from dray.objects.local.resident import ResidentReader
from dray.objects.local.write import Writer
from dray.objects.paths import check_path, check_prefix, check_ranges, folder_of
from dray.objects.port import ByteRange, ObjectError, ObjectInfo, StoreUnusable
from dray.runtime import Threads, ThreadsStopped

T = TypeVar("T")
_Translate = Callable[[OSError, Path, str], ObjectError]

_STATS_AT_ONCE: Final = 256
_PATIENCE_S: Final = 10.0
"""A read from a mount that is dead must not keep the process."""


@dataclass(frozen=True, slots=True)
class LocalSettings:
    """How a directory is used."""

    threads: int = 8


_USUAL: Final = LocalSettings()


class LocalObjects:
    """Made by `open`; `close` ends its threads and lets go of its temp folder."""

    def __init__(self, root: Path, own_temp: temp.TempFolder, threads: Threads) -> None:
        self._root = root
        self._temp = own_temp
        self._writer = Writer(root, own_temp)
        self._resident = ResidentReader(root)
        self._threads = threads
        self._closed = False

    @classmethod
    async def open(cls, root: Path, settings: LocalSettings = _USUAL) -> "LocalObjects":
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
        resident = None if self._closed else self._resident.read(path, ranges)
        if resident is not None:
            return resident
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
        await self._threads.stop(_PATIENCE_S)
        self._temp.close()  # every put has removed its own file, so this is one empty folder

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
