"""Durable metadata files on a local disk.

PyIceberg's own FileIO leaves new files in the page cache, while SQLite syncs the row that points to them:
after a power failure the catalog would name an empty file. Here a file is written under a temporary name,
synced and renamed, and its directory synced. Creation also never overwrites, which pyarrow checks only in
advance.

PyIceberg instantiates this class by name, from the property `py-io-impl`. Schemes other than `file` go to
pyarrow.

It also records the file opened last, because PyIceberg's errors do not name the file.
"""

import os
from contextlib import suppress
from contextvars import ContextVar
from pathlib import Path
from threading import get_ident
from typing import Final

from pyiceberg.io import InputFile, OutputFile, OutputStream
from pyiceberg.io.pyarrow import PyArrowFile, PyArrowFileIO

from dray.runtime import sync_directory
from dray.tables.iceberg.buffered_file import BufferedFile

NAME: Final = f"{__name__}.DurableFileIO"
last_opened: ContextVar[str | None] = ContextVar("last_opened", default=None)
"""The file last opened for reading in this call."""


class DurableFileIO(PyArrowFileIO):
    """PyArrow's FileIO with durable local files, tolerant deletes and a record of the last file opened."""

    def new_output(self, location: str) -> PyArrowFile:
        scheme, netloc, path = self.parse_location(location, self.properties)
        if scheme != "file":
            return super().new_output(location)
        return _LocalFile(location=location, path=path, fs=self.fs_by_scheme(scheme, netloc))

    def new_input(self, location: str) -> PyArrowFile:
        last_opened.set(location)
        return super().new_input(location)

    def delete(self, location: str | InputFile | OutputFile) -> None:
        """Delete the file. A missing one is not an error: REST catalogs delete old metadata themselves."""
        with suppress(FileNotFoundError):
            super().delete(location)


class _LocalFile(PyArrowFile):
    def create(self, overwrite: bool = False) -> OutputStream:
        target = Path(self._path)
        _make_directory(target.parent)
        return _NewFile(target, overwrite=overwrite)


class _NewFile(BufferedFile):
    """A new file on the disk."""

    def __init__(self, target: Path, *, overwrite: bool) -> None:
        super().__init__()
        self._target = target
        self._overwrite = overwrite
        if not overwrite and target.exists():
            raise FileExistsError(f"{target} already exists")

    def write_content(self, content: bytes) -> None:
        temporary = self._target.with_name(f".{self._target.name}.{os.getpid()}-{get_ident()}.tmp")
        try:
            _write(temporary, content)
            if self._overwrite:
                temporary.replace(self._target)
            else:
                os.link(temporary, self._target)
        finally:
            with suppress(FileNotFoundError):
                temporary.unlink()
        sync_directory(self._target.parent)


def _write(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _make_directory(path: Path) -> None:
    """Create the directory and its parents, syncing each one's parent."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(exist_ok=True)
        sync_directory(folder.parent)
