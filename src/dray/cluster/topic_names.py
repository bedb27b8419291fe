"""Names of topics: which are valid, and which are internal to Kafka."""

import re
from typing import Final

_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_LENGTH_MAX = 249

CLUSTER_METADATA: Final = "__cluster_metadata"
_INTERNAL = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})


def is_valid_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None and name not in (".", "..")


def why_invalid(name: str) -> str | None:
    """Return why a name is invalid, in Kafka's words; None if it is valid."""
    if is_valid_name(name):
        return None
    if not name:
        return "Topic name is invalid: the empty string is not allowed"
    if name in (".", ".."):
        return f"Topic name is invalid: '{name}' is not allowed"
    if len(name) > _LENGTH_MAX:
        return (
            f"Topic name is invalid: the length of '{name}' is longer than "
            f"the max allowed length {_LENGTH_MAX}"
        )
    return (
        f"Topic name is invalid: '{name}' contains one or more characters other than "
        "ASCII alphanumerics, '.', '_' and '-'"
    )


def is_internal(name: str) -> bool:
    """Return whether Kafka stores internal state under this name; tools hide such topics."""
    return name in _INTERNAL
