"""Errors of the data source, by what the user must do. Spark shows them as text.

    InvalidOption      fix the option or the schema
    SourceError        the topic cannot be read as requested
    └── DataLost       request offsets that are in the log, or skip the missing ones
    CannotWrite        fix the frame or the topic; the message says how

A missing topic is `TopicDeleted`, of `dray.scan`. Errors of the stores and the log propagate unchanged.
"""


class InvalidOption(ValueError):
    """An option, or the requested schema, is invalid."""


class SourceError(Exception):
    """A topic cannot be read as requested."""


class DataLost(SourceError):
    """Requested offsets are not in the log."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what}; to read what is left, set the option failOnDataLoss to false")


class CannotWrite(Exception):
    """The frame or the topic does not allow the write."""
