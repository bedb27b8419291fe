"""Kafka APIs and their messages: key, versions, request and response classes."""

from dataclasses import dataclass
from typing import Final

from msgspec import Struct

from dray.wire.errors import UnknownVersion

_API_VERSIONS: Final = 18


class Message(Struct, frozen=True, kw_only=True, gc=False):
    """A request, a response, or a struct inside one, with the fields of all its versions.

    msgspec creates one in about 50 ns, a class with slots in about 110. Messages contain no reference cycles,
    so the collector does not track them. A default that is a struct is shared: encoding recognizes it by
    identity.
    """


@dataclass(frozen=True, slots=True, eq=False)
class Api:
    """One API of the Kafka protocol, with the versions that this package can encode and decode.

    Which of them are served is decided above. From version `flexible_from` on, lengths are variable-length
    integers and structs end with tagged fields.
    """

    key: int
    name: str
    lowest: int
    highest: int
    flexible_from: int | None
    request: type[Message]
    response: type[Message]

    def check(self, version: int) -> None:
        """Raise `UnknownVersion` unless this API has `version`."""
        if not self.lowest <= version <= self.highest:
            raise UnknownVersion(self.name, version, self.lowest, self.highest)

    def is_flexible(self, version: int) -> bool:
        return self.flexible_from is not None and version >= self.flexible_from

    def response_header_version(self, version: int) -> int:
        """Return 1 if flexible, but 0 for ApiVersions, whose client does not know the version yet."""
        return 1 if self.is_flexible(version) and self.key != _API_VERSIONS else 0
