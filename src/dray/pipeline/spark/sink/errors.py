"""What a user of the sink can put right."""


class CannotWrite(Exception):
    """The frame, an option or the topic does not allow the write; the message says what to change."""
