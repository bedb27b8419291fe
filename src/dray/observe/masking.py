"""Keeping secrets out of the logs.

A value is masked by the name it is logged under, at any depth of mappings. This is the last fence, not the
first: values that hold secrets should not be logged at all.
"""

import re
from collections.abc import Mapping
from typing import Final

from structlog.typing import EventDict, WrappedLogger

MASK: Final = "***"
_SECRET_NAME: Final = re.compile(
    r"passw|secret|token|credential|private_?key|access_?key|authorization", re.IGNORECASE
)


def mask_secrets(_: WrappedLogger, __: str, event_dict: EventDict) -> EventDict:
    """Replace the values of fields whose name looks like that of a secret (a structlog processor)."""
    for name, value in event_dict.items():
        if _SECRET_NAME.search(name):
            event_dict[name] = MASK
        elif isinstance(value, Mapping):
            event_dict[name] = masked(value)
    return event_dict


def masked(fields: Mapping[object, object]) -> dict[object, object]:
    """Return a copy of `fields` without its secrets."""
    return {name: _masked_value(name, value) for name, value in fields.items()}


def _masked_value(name: object, value: object) -> object:
    if isinstance(name, str) and _SECRET_NAME.search(name):
        return MASK
    return masked(value) if isinstance(value, Mapping) else value
