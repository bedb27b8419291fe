"""Metadata files of tables in a cloud bucket, read and written with the log's credentials and encryption."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Final

from dray.objects.cloud import CloudFiles
from dray.objects.port import AlreadyExists, NotFound, ObjectError, StoreUnusable
from dray.objects.url import Scheme, StorageUrl, parse_storage_url
from dray.server.cloud_storage import open_table_files
from dray.settings.storage import StorageSettings

_SCHEMES: Final[dict[str, Scheme]] = {
    "s3": "s3",
    "s3a": "s3",
    "s3n": "s3",
    "gs": "gs",
    "gcs": "gs",
    "abfss": "az",
    "abfs": "az",
}


@dataclass(frozen=True, slots=True)
class FindTableFile:
    """Maps the URL of a file to a bucket of the cloud that the settings name."""

    storage: StorageSettings

    def __call__(self, location: str) -> tuple["TableFiles", str] | None:
        scheme, _, rest = location.partition("://")
        kind = _SCHEMES.get(scheme)
        if kind is None or kind != parse_storage_url(self.storage.url).scheme:
            return None
        place, _, path = rest.partition("/")
        bucket, _, host = place.partition("@")
        account = host.partition(".")[0]
        if account and account != self.storage.account:
            raise PermissionError(
                f"{location} is in Azure account {account}, but storage.account is {self.storage.account}"
            )
        return TableFiles(_open(self.storage, StorageUrl(kind, bucket, ""))), path


@cache
def _open(storage: StorageSettings, url: StorageUrl) -> CloudFiles:
    return open_table_files(url, storage)


class TableFiles:
    """Files of a bucket, with the errors that PyIceberg knows."""

    def __init__(self, files: CloudFiles) -> None:
        self._files = files

    def read(self, path: str) -> bytes:
        with _system_errors():
            return self._files.read(path)

    def size(self, path: str) -> int:
        with _system_errors():
            return self._files.size(path)

    def write(self, path: str, content: bytes, *, overwrite: bool) -> None:
        with _system_errors():
            self._files.write(path, content, overwrite=overwrite)

    def delete(self, path: str) -> None:
        """Delete the file. A missing one is not an error: REST catalogs delete old metadata themselves."""
        try:
            with _system_errors():
                self._files.delete(path)
        except FileNotFoundError:
            return


@contextmanager
def _system_errors() -> Iterator[None]:
    try:
        yield
    except NotFound as error:
        raise FileNotFoundError(str(error)) from error
    except AlreadyExists as error:
        raise FileExistsError(str(error)) from error
    except StoreUnusable as error:
        raise PermissionError(str(error)) from error
    except ObjectError as error:
        raise OSError(str(error)) from error
