"""Secrets that are never printed by accident.

Printing, formatting and logging a secret gives `***`; only `reveal`, called where the secret is passed to a
store, returns the text.
"""

import hmac
from typing import Final

MASK: Final = "***"


class Secret:
    """A text that is printed as `***` everywhere."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Return the text itself."""
        return self._text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and hmac.compare_digest(self._text.encode(), other._text.encode())

    def __hash__(self) -> int:
        return hash(Secret)

    def __repr__(self) -> str:
        return MASK
