"""Principals: who sends a request, as a type and a name."""

from dataclasses import dataclass, field
from typing import Final

_USER: Final = "User"


@dataclass(frozen=True, slots=True)
class Principal:
    """A principal; `text` is how ACLs name it."""

    type: str
    name: str
    text: str = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if ":" in self.type:
            raise ValueError(f"the type of a principal must not contain a colon, got '{self.type}'")
        object.__setattr__(self, "text", f"{self.type}:{self.name}")

    def __str__(self) -> str:
        return self.text

    @classmethod
    def user(cls, name: str) -> "Principal":
        return cls(_USER, name)

    @classmethod
    def parse(cls, text: str) -> "Principal":
        """Parse `type:name`, either of which may be empty; the name may contain colons."""
        kind, colon, name = text.partition(":")
        if not colon:
            raise ValueError(f"expected a principal such as User:alice, got '{text}'")
        return cls(kind, name)


ANONYMOUS: Final = Principal.user("ANONYMOUS")
"""The principal of connections without authentication."""


def super_users(text: str) -> frozenset[str]:
    """Parse principals separated by semicolons; `ValueError` if one is invalid."""
    given = (part.strip() for part in text.split(";"))
    return frozenset(Principal.parse(part).text for part in given if part)
