"""The port of the object store: immutable bytes under a path.

*Path.* Slash-separated, relative to the store's root, printable ASCII (including space) except the characters
that some store or file system does not handle: ``\\ { } ^ % ` [ ] " < > ~ # |``. No segment is empty, starts
with a dot or is longer than 255 characters; a path has at most 700. Anything else is a `ValueError`, as is a
range that is empty or starts before 0. Do not use a path and a folder of the same name (`a` and `a/b`): not
every store supports both.

*Immutable.* `put_new` never overwrites. When it returns, the object is durable and visible to every reader in
full; before that it is not visible at all.

*Bytes.* Puts take a list of buffers, which are concatenated without a copy in the caller. The caller must not
change them until the put has returned, and never if it was cancelled or raised `Unavailable`, because it may
still be in flight. Reads return an immutable object with the buffer protocol.

Errors are sorted by what the caller must do:

    ObjectError
    ├── Unavailable       transient: throttled, timed out, torn; retry later
    ├── NotFound          no such object
    ├── AlreadyExists     the path was written before; nothing was changed
    ├── OutOfRange        a range outside the object; nothing was read
    └── StoreUnusable     permanent until an operator fixes it: credentials, bucket, full or read-only disk
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from typing_extensions import Buffer


class ObjectError(Exception):
    """A request to the object store failed."""


class Unavailable(ObjectError):
    """The store is unreachable or does not respond in time.

    A put that failed like this may have happened, or may still happen.
    """


class NotFound(ObjectError):
    """There is no object at this path."""


class AlreadyExists(ObjectError):
    """There is an object at this path, which is unchanged."""


class OutOfRange(ObjectError):
    """The range is not inside the object."""


class StoreUnusable(ObjectError):
    """The store cannot be used, and a retry will not help; the message says what to do."""


class ByteRange(NamedTuple):
    """`length` bytes from `start`; never empty."""

    start: int
    length: int

    @property
    def end(self) -> int:
        return self.start + self.length


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """The metadata of an object."""

    path: str
    size_bytes: int
    modified_ms: int


class ObjectStore(Protocol):
    """An object store."""

    async def put_new(self, path: str, parts: Sequence[Buffer]) -> None: ...

    async def get(self, path: str) -> Buffer: ...

    async def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[Buffer]: ...

    async def head(self, path: str) -> ObjectInfo: ...

    def list(self, prefix: str, after: str = "") -> AsyncIterator[ObjectInfo]:
        """Yield the objects whose path starts with `prefix` and sorts after `after`, in byte order."""
        ...

    async def delete(self, path: str) -> None:
        """Remove the object, whether or not it exists."""
        ...

    async def close(self) -> None: ...
