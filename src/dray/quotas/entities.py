"""Quota entities: a user, a client id, both, or an IP address; each by name or as the default of its type."""

from collections.abc import Mapping
from typing import Final

import msgspec

USER: Final = "user"
CLIENT_ID: Final = "client-id"
IP: Final = "ip"


class Entity(msgspec.Struct, frozen=True, order=True):
    """What a quota is set for. Create it with `Entity.of`, which sorts the parts."""

    parts: tuple[tuple[str, str | None], ...]
    """Type and name, sorted by type; the name is None for the default of the type."""

    @classmethod
    def of(cls, names: Mapping[str, str | None]) -> "Entity":
        return cls(tuple(sorted(names.items(), key=lambda part: part[0])))

    @property
    def names(self) -> dict[str, str | None]:
        """The names by type."""
        return dict(self.parts)

    def __str__(self) -> str:
        """Format the entity as Kafka does in error messages."""
        shown = ", ".join(f"{kind}={'null' if name is None else name}" for kind, name in self.parts)
        return f"ClientQuotaEntity(entries={{{shown}}})"
