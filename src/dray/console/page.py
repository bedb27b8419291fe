"""A response over HTTP."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

TEXT: Final = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Page:
    """A response."""

    status: int
    body: bytes
    content_type: str = TEXT
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers besides those that every response has."""
