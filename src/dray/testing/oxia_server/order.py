"""The order of keys: hierarchical, as Oxia's default, or natural.

Hierarchical: keys with fewer slashes first; a slash sorts after every other character; a second slash at
the end does not count, so that the children of `/a` are the range from `/a/` to `/a//`.
"""

from collections.abc import Callable
from typing import Literal

Sorting = Literal["hierarchical", "natural"]


def _natural(key: str) -> bytes:
    return key.encode()


def _hierarchical(key: str) -> bytes:
    slashes = key.count("/") - (key.endswith("//") and key != "")
    return slashes.to_bytes(2, "big") + key.encode().replace(b"/", b"\xff")


def encoder(sorting: Sorting) -> Callable[[str], bytes]:
    """Return the function whose results sort like the keys."""
    return _natural if sorting == "natural" else _hierarchical
