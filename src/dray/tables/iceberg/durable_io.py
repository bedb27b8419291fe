"""Metadata files on a local disk that survive a power cut.

PyIceberg's own FileIO leaves new files to the system's cache, while SQLite syncs the row that points to
them: after a power cut the catalogue would name an empty file. So here a file is written aside, synced,
given its name, and its directory synced. It also never overwrites, which pyarrow only checks beforehand.

PyIceberg makes this class by its name, from the property `py-io-impl`. Other schemes than `file` go to
pyarrow.

It also remembers what was opened last: PyIceberg's errors do not say which file they are about.
"""

import os
from contextlib import suppress
from contextvars import ContextVar
from io import BytesIO
from pathlib import Path
from types import TracebackType
from typing import Final

from pyiceberg.io import InputFile, OutputFile, OutputStream
from pyiceberg.io.pyarrow import PyArrowFile, PyArrowFileIO

from dray.runtime import sync_directory

NAME: Final = f"{__name__}.DurableFileIO"
last_opened: ContextVar[str | None] = ContextVar("last_opened", default=None)
"""The file that was last opened to be read, in this call."""


class DurableFileIO(PyArrowFileIO):
    """PyArrow's FileIO, but for new local files, for deletes, and for what it remembers."""

    def new_output(self, location: str) -> PyArrowFile:
        scheme, netloc, path = self.parse_location(location, self.properties)
        if scheme != "file":
            return super().new_output(location)
        return _LocalFile(location=location, path=path, fs=self.fs_by_scheme(scheme, netloc))

    def new_input(self, location: str) -> PyArrowFile:
        last_opened.set(location)
        return super().new_input(location)

    def delete(self, location: str | InputFile | OutputFile) -> None:
        """Delete the file. One that is gone is no fault: a REST catalogue deletes old metadata itself."""
        with suppress(FileNotFoundError):
            super().delete(location)


class _LocalFile(PyArrowFile):
    def create(self, overwrite: bool = False) -> OutputStream:
        target = Path(self._path)
        _make_directory(target.parent)
        return _Writing(target, overwrite=overwrite)


class _Writing(BytesIO):
    """Collects the bytes (metadata files are small) and makes the file when it is closed."""

    def __init__(self, target: Path, *, overwrite: bool) -> None:
        super().__init__()
        self._target = target
        self._overwrite = overwrite
        if not overwrite and target.exists():
            raise FileExistsError(f"{target} exists already")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            super().close()

    def close(self) -> None:
        if self.closed:
            return
        content = self.getvalue()
        super().close()
        aside = self._target.with_name(f".{self._target.name}.{os.getpid()}.tmp")
        try:
            _write(aside, content)
            if self._overwrite:
                aside.replace(self._target)
            else:
                os.link(aside, self._target)
        finally:
            with suppress(FileNotFoundError):
                aside.unlink()
        sync_directory(self._target.parent)


def _write(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _make_directory(path: Path) -> None:
    """Make it and those above it, each durably in the one that holds it."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(exist_ok=True)
        sync_directory(folder.parent)
