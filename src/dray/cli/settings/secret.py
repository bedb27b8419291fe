"""A secret that does not show itself.

Whatever prints, formats, logs or compares it sees `***`; only `reveal`, called where the secret is handed
to the store, gives it out.
"""

import hmac
from typing import Final

MASK: Final = "***"


class Secret:
    """A text that is shown as `***` everywhere."""

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
