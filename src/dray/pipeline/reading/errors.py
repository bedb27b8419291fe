"""Why a topic cannot be read. What stores and the log raise passes through as it is."""


class TopicGone(Exception):
    """There is no such topic, or not the one that reading began with."""
