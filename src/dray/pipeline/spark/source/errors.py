"""Why Spark cannot be given what was asked for.

An option to be mended is `OptionWrong`, of `spark/options`, and a topic that is not there is `TopicGone`, of
`pipeline/reading`. What stores and the log raise passes through as it is. Spark shows all of it as text.
"""


class SourceError(Exception):
    """A topic cannot be read as it was asked for."""


class DataLost(SourceError):
    """Offsets that were asked for are not in the log: ask for others, or do without them."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what}; to read what is left, set the option failOnDataLoss to false")
