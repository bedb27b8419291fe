"""A topic as those name it that keep something for it."""

from typing import NamedTuple


class TopicRef(NamedTuple):
    """A topic by its name and its id, which tells it from its namesakes before and after."""

    name: str
    topic_id: bytes
