"""What is known about one API: its number, its versions, its two messages."""

from dataclasses import dataclass
from typing import Final

from dray.wire.faults import UnknownVersion
from dray.wire.message import Message

_API_VERSIONS: Final = 18


@dataclass(frozen=True, slots=True, eq=False)
class Api:
    """One API of the Kafka protocol, with the versions that this room can read and write.

    Which of them are served is for the rooms above to say. In versions from `flexible_from` on, lengths are
    variable-length numbers and structs end with tagged fields.
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

    def request_header_version(self, version: int) -> int:
        return 2 if self.is_flexible(version) else 1

    def response_header_version(self, version: int) -> int:
        """A client reads an ApiVersions answer before it knows the version: that header never changes."""
        return 1 if self.is_flexible(version) and self.key != _API_VERSIONS else 0
