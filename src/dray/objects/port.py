"""The object store as the rest of Dray sees it: immutable bytes under a path.

*Path.* Slash-separated, relative to the store's root, printable ASCII (a space too) except the characters
that some store or file system mistreats: ``\\ { } ^ % ` [ ] " < > ~ # |``. No segment is empty, starts
with a dot or is longer than 255 characters; a path has at most 700. Anything else is a `ValueError`, as is
a range that is empty or starts before 0. Do not use a path and a folder of the same name (`a` and `a/b`):
not every store can keep both.

*Immutable.* `put_new` never overwrites. When it returns, the object is durable and every reader
sees all of it; before that no reader sees any of it.

*Bytes.* Puts take a list of buffers, written one after the other without being joined by the caller; the
caller must not change them until the put has returned, and never if it was cancelled or ended with
`Unavailable`, as it may still be under way. Reads return an object with the buffer protocol that nobody
changes.

Errors are sorted by what the caller must do:

    ObjectError
    ├── Unavailable       it may pass: throttled, timed out, torn; try again later
    ├── NotFound          no such object
    ├── AlreadyExists     somebody wrote this path before; nothing was changed
    ├── OutOfRange        a range outside the object; nothing was read
    └── StoreUnusable     it will not pass until a person mends it: credentials, bucket, disk full, read-only
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from typing_extensions import Buffer


class ObjectError(Exception):
    """An object store did not do what was asked."""


class Unavailable(ObjectError):
    """The store could not be reached or would not answer in time.

    A put that ended so may have happened, or may still.
    """


class NotFound(ObjectError):
    """There is no object at this path."""


class AlreadyExists(ObjectError):
    """There is an object at this path already; it was left as it is."""


class OutOfRange(ObjectError):
    """The range is not inside the object."""


class StoreUnusable(ObjectError):
    """The store cannot be used as it is, and trying again will not help; the message says what to do."""


class ByteRange(NamedTuple):
    """`length` bytes from `start`; never empty."""

    start: int
    length: int

    @property
    def end(self) -> int:
        return self.start + self.length


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """What a store tells about an object without reading it."""

    path: str
    size_bytes: int
    modified_ms: int


class ObjectStore(Protocol):
    """The port."""

    async def put_new(self, path: str, parts: Sequence[Buffer]) -> None: ...

    async def get(self, path: str) -> Buffer: ...

    async def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[Buffer]: ...

    async def head(self, path: str) -> ObjectInfo: ...

    def list(self, prefix: str, after: str = "") -> AsyncIterator[ObjectInfo]:
        """Objects whose path starts with `prefix` and sorts behind `after`, in byte order of their paths."""
        ...

    async def delete(self, path: str) -> None:
        """Remove the object; one that is not there is no fault."""
        ...

    async def close(self) -> None: ...
