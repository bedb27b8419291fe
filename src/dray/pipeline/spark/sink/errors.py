"""What a user of the sink can put right."""


class CannotWrite(Exception):
    """The frame or the topic does not allow the write; the message says what to change."""
