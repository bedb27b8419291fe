"""Metadata files of tables in a bucket that our own client reads and writes.

PyIceberg's FileIO finds credentials by rules of its own: pyarrow takes no service account key for Google and
no shared key from Azure's variables, and PyIceberg passes it Azure's full URLs as paths. On S3 it can neither
have files encrypted nor trust a private authority, and it never creates files conditionally. So the caller
brings the client, with the credentials of the log's objects (`IcebergSettings.files`).

PyIceberg instantiates the class by name and gives it nothing but strings; a property is the key of the client
in this process. Files that are not in the bucket, such as those of a table that another engine put on a disk,
go to pyarrow.
"""

from collections.abc import Callable
from io import BytesIO
from typing import Final, Protocol

from pyiceberg.io import FileIO, InputFile, InputStream, OutputFile, OutputStream
from pyiceberg.typedef import Properties

from dray.tables.iceberg.buffered_file import BufferedFile
from dray.tables.iceberg.durable_io import DurableFileIO, last_opened

_KEY: Final = "dray.files"


class Files(Protocol):
    """Whole files of a bucket. Errors are `OSError`s: of a missing, an existing, and a forbidden file."""

    def read(self, path: str) -> bytes: ...

    def size(self, path: str) -> int: ...

    def write(self, path: str, content: bytes, *, overwrite: bool) -> None:
        """Write the file at once; unless it may be overwritten, an existing one is an error."""
        ...

    def delete(self, path: str) -> None: ...


FindFile = Callable[[str], tuple[Files, str] | None]
"""Maps a URL to a bucket and the path in it; None if the file is elsewhere."""

_clients: dict[str, FindFile] = {}


def properties(find: FindFile) -> dict[str, str]:
    """Return the catalog properties that make PyIceberg use this client."""
    key = str(id(find))  # which stays unique, because the client is kept
    _clients[key] = find
    return {"py-io-impl": f"{__name__}.{BucketFileIO.__name__}", _KEY: key}


class BucketFileIO(FileIO):
    """PyIceberg's FileIO over `Files`."""

    def __init__(self, properties: Properties) -> None:
        super().__init__(properties)
        self._find = _clients[str(properties[_KEY])]
        self._elsewhere = DurableFileIO(properties)

    def new_input(self, location: str) -> InputFile:
        found = self._find(location)
        if found is None:
            return self._elsewhere.new_input(location)
        last_opened.set(location)
        return _BucketFile(location, *found)

    def new_output(self, location: str) -> OutputFile:
        found = self._find(location)
        return self._elsewhere.new_output(location) if found is None else _BucketFile(location, *found)

    def delete(self, location: str | InputFile | OutputFile) -> None:
        found = self._find(location if isinstance(location, str) else location.location)
        if found is None:
            self._elsewhere.delete(location)
            return
        files, path = found
        files.delete(path)


class _BucketFile(InputFile, OutputFile):
    def __init__(self, location: str, files: Files, path: str) -> None:
        super().__init__(location)
        self._files = files
        self._path = path

    def __len__(self) -> int:
        return self._files.size(self._path)

    def exists(self) -> bool:
        try:
            len(self)
        except FileNotFoundError:
            return False
        return True

    def open(self, seekable: bool = True) -> InputStream:  # noqa: ARG002 - of the interface
        return BytesIO(self._files.read(self._path))

    def create(self, overwrite: bool = False) -> OutputStream:
        return _NewFile(self._files, self._path, overwrite=overwrite)

    def to_input_file(self) -> InputFile:
        return self


class _NewFile(BufferedFile):
    """A new file of the bucket."""

    def __init__(self, files: Files, path: str, *, overwrite: bool) -> None:
        super().__init__()
        self._files = files
        self._path = path
        self._overwrite = overwrite

    def write_content(self, content: bytes) -> None:
        self._files.write(self._path, content, overwrite=self._overwrite)
