"""Places of backups: a local file, or the folder of backups in the object store.

In the object store a backup is a folder of parts, which together are what a file would contain. The last one
is called `end`, and only a folder that has it is a complete backup:

    backups/metadata/v1/<backup id>/part-00000, part-00001, …, end

A backup's id starts with the generation of the metadata and its time, so that the newest is the last one by
name, and one of a superseded store never is. A file appears under its name when it is complete.
"""

import os
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Protocol

from typing_extensions import Buffer

from dray.backup.errors import BackupError, BackupMissing
from dray.objects.paths import is_segment
from dray.objects.port import NotFound, ObjectError, ObjectStore
from dray.runtime import Entropy, sync_directory

FOLDER: Final = "backups/metadata/v1/"
PART_BYTES: Final = 16 * 1024 * 1024
_END: Final = "end"
_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
_PIECE_BYTES: Final = 1024 * 1024


def new_backup_id(generation: int, now_ms: int, entropy: Entropy) -> str:
    at = datetime.fromtimestamp(now_ms / 1000, UTC)
    return f"{generation:04d}-{at:%Y%m%dT%H%M%S}{now_ms % 1000:03d}Z-{entropy.token(4).hex()}"


class BackupSource(Protocol):
    """A backup to read, possibly more than once."""

    @property
    def name(self) -> str: ...

    def pieces(self) -> AsyncIterator[Buffer]: ...


class BackupSink(Protocol):
    """A backup to write."""

    @property
    def name(self) -> str: ...

    async def write(self, data: bytes) -> None: ...

    async def complete(self, end: bytes) -> None:
        """Write the last bytes and make the whole backup durable and visible."""
        ...

    async def discard(self) -> None:
        """Delete what was written; best effort."""
        ...


class FileSink:
    """A new file, written beside its name; like the SQLite file, only its owner may read it."""

    def __init__(self, path: Path) -> None:
        if path.exists():
            raise BackupError(f"{path} exists already; choose another path")
        self._path = path
        self._aside = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            self._file = os.fdopen(os.open(self._aside, _NEW_FILE, mode=0o600), "wb")
        except OSError as error:
            raise BackupError(f"cannot write {self._aside}: {error.strerror}") from error

    @property
    def name(self) -> str:
        return str(self._path)

    async def write(self, data: bytes) -> None:
        try:
            self._file.write(data)
        except OSError as error:
            raise BackupError(f"cannot write {self._path}: {error.strerror}") from error

    async def complete(self, end: bytes) -> None:
        await self.write(end)
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            os.link(self._aside, self._path)
            self._aside.unlink()
            sync_directory(self._path.absolute().parent)
        except OSError as error:
            raise BackupError(f"cannot write {self._path}: {error.strerror}") from error

    async def discard(self) -> None:
        with suppress(OSError):
            self._file.close()
        self._aside.unlink(missing_ok=True)


class ObjectSink:
    """A new folder in the object store. Holds one part in memory."""

    def __init__(self, objects: ObjectStore, backup_id: str) -> None:
        self._objects = objects
        self._backup_id = backup_id
        self._parts = 0
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._is_ending = False

    @property
    def name(self) -> str:
        return f"objects:{self._backup_id}"

    async def write(self, data: bytes) -> None:
        self._pending.append(data)
        self._pending_bytes += len(data)
        if self._pending_bytes >= PART_BYTES:
            await self._put()

    async def complete(self, end: bytes) -> None:
        if self._pending:
            await self._put()
        self._is_ending = True
        await self._objects.put_new(_path(self._backup_id, _END), [end])

    async def discard(self) -> None:
        if self._is_ending:
            return  # a put without a response may still make it complete
        with suppress(ObjectError):
            await _delete(self._objects, self._backup_id, map(_part, range(self._parts + 1)))

    async def _put(self) -> None:
        pending, self._pending, self._pending_bytes = self._pending, [], 0
        await self._objects.put_new(_path(self._backup_id, _part(self._parts)), pending)
        self._parts += 1


@dataclass(frozen=True, slots=True)
class FileSource:
    """A local file."""

    path: Path

    @property
    def name(self) -> str:
        return str(self.path)

    async def pieces(self) -> AsyncIterator[Buffer]:
        try:
            with self.path.open("rb") as file:
                while piece := file.read(_PIECE_BYTES):
                    yield piece
        except OSError as error:
            raise BackupMissing(f"cannot read {self.path}: {error.strerror}") from error


@dataclass(frozen=True, slots=True)
class ObjectSource:
    """A folder in the object store."""

    objects: ObjectStore
    backup_id: str

    @property
    def name(self) -> str:
        return f"objects:{self.backup_id}"

    async def pieces(self) -> AsyncIterator[Buffer]:
        if not is_segment(self.backup_id):
            raise BackupMissing(f"{self.backup_id!r} is not the name of a backup")
        paths = [info.path async for info in self.objects.list(_path(self.backup_id, ""))]
        end = _path(self.backup_id, _END)
        if end not in paths:
            raise BackupMissing(await self._missing(bool(paths)))
        for path in [*sorted(path for path in paths if path != end), end]:
            try:
                yield await self.objects.get(path)
            except NotFound as error:
                raise BackupMissing(f"backup {self.name} was deleted while it was read") from error

    async def _missing(self, begun: bool) -> str:
        known = [saved.backup_id for saved in await saved_backups(self.objects)]
        advice = f"the newest is objects:{known[-1]}" if known else "there is none in the object store"
        what = "is not complete" if begun else "does not exist"
        return f"backup {self.name} {what}; {advice}"


@dataclass(slots=True)
class SavedBackup:
    """A backup in the object store."""

    backup_id: str
    size_bytes: int = 0
    modified_ms: int = 0
    is_complete: bool = False


async def saved_backups(objects: ObjectStore, *, incomplete: bool = False) -> list[SavedBackup]:
    """Return the complete backups in the object store, oldest first; or only those that are not complete."""
    found: dict[str, SavedBackup] = {}
    async for info in objects.list(FOLDER):
        backup_id, _, part = info.path.removeprefix(FOLDER).partition("/")
        saved = found.setdefault(backup_id, SavedBackup(backup_id))
        saved.size_bytes += info.size_bytes
        saved.modified_ms = max(saved.modified_ms, info.modified_ms)
        saved.is_complete |= part == _END
    return sorted(
        (one for one in found.values() if one.is_complete != incomplete), key=lambda one: one.backup_id
    )


async def delete_backup(objects: ObjectStore, backup_id: str) -> None:
    """Delete a backup; a crash on the way leaves one that is not complete."""
    prefix = _path(backup_id, "")
    names = [info.path.removeprefix(prefix) async for info in objects.list(prefix)]
    await _delete(objects, backup_id, sorted(names, key=lambda name: name != _END))


async def _delete(objects: ObjectStore, backup_id: str, names: Iterable[str]) -> None:
    for name in names:
        await objects.delete(_path(backup_id, name))


def _path(backup_id: str, name: str) -> str:
    return f"{FOLDER}{backup_id}/{name}"


def _part(number: int) -> str:
    return f"part-{number:05d}"
