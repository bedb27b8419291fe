"""Stable names for values that differ in every recording.

Ids that a broker generates get a name when they first occur (`<uuid-1>`, `<id-1>`). Topic ids are shown as
topic names, and the suffix that separates the groups and topics of a run from others is removed.
"""

import re
from typing import Final

_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_BASE64_UUID: Final = re.compile(r"(?<![\w-])[A-Za-z0-9_-]{22}(?![\w-])")
_GENERATED: Final = {"member_id", "leader", "error_message"}


class Names:
    """The names of one run of one scenario."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._ids: dict[str, str] = {}
        self._topics: dict[bytes, str] = {}

    def own(self, name: str) -> str:
        """Return the name of a group or topic in this run; an empty one stays empty."""
        return f"{name}-{self._run}" if name else name

    def is_own(self, name: str) -> bool:
        return name.endswith(f"-{self._run}")

    def learn_topic(self, topic_id: bytes, name: str) -> None:
        self._topics[topic_id] = name

    def topic(self, topic_id: bytes) -> str:
        return self._topics.get(topic_id, topic_id.hex())

    def text(self, field: str, value: str) -> str:
        """Render the text of a field."""
        for found in _BASE64_UUID.findall(value) if field in _GENERATED else ():
            self._ids.setdefault(found, f"<id-{len(self._ids) + 1}>")
        for found in _UUID.findall(value):
            self._ids.setdefault(found, f"<uuid-{len(self._ids) + 1}>")
        for generated, name in self._ids.items():
            value = value.replace(generated, name)
        return value.replace(f"-{self._run}", "")
