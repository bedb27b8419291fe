"""Whole objects of a cloud store for libraries that block, such as Iceberg's.

The port's stores never replace an object; this one can. It retries by itself, because its callers do not.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypeVar

import obstore
from obstore.exceptions import BaseError

from dray.objects.cloud.errors import StoreLocation, translate

if TYPE_CHECKING:
    from obstore.store import ObjectStore as Obstore

T = TypeVar("T")


class CloudFiles:
    """A bucket or container, created by `open_gcs_files` or `open_azure_files`."""

    def __init__(self, store: "Obstore", location: StoreLocation) -> None:
        self._store = store
        self._location = location

    def read(self, path: str) -> bytes:
        return self._call(lambda: bytes(obstore.get(self._store, path).bytes()), f"read of {path}")

    def size(self, path: str) -> int:
        return self._call(lambda: obstore.head(self._store, path)["size"], f"head of {path}")

    def write(self, path: str, content: bytes, *, overwrite: bool) -> None:
        """Write the object in one request; unless it may be overwritten, an existing one is an error."""

        def put() -> object:
            mode: Literal["overwrite", "create"] = "overwrite" if overwrite else "create"
            return obstore.put(self._store, path, content, mode=mode, use_multipart=False)

        self._call(put, f"write of {path}")

    def delete(self, path: str) -> None:
        self._call(lambda: obstore.delete(self._store, path), f"delete of {path}")

    def _call(self, request: Callable[[], T], operation: str) -> T:
        try:
            return request()
        except (BaseError, OSError) as error:
            # Not chained: the text of the error may contain a signed URL.
            raise translate(error, self._location, operation) from None
