"""A plain line to a record: its value, with a separator its key and value, with a token its nulls."""

from dataclasses import dataclass

from dray.cli.client.drafts import Draft

Headers = tuple[tuple[str, bytes | None], ...]


class WrongLine(Exception):
    """A line that is no record; the message says which and why."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__(f"line {line}: {why}")


@dataclass(frozen=True, slots=True)
class PlainLines:
    """How plain lines are read."""

    key_separator: bytes | None = None
    null_token: bytes | None = None
    headers: Headers = ()

    def read(self, number: int, line: bytes) -> Draft:
        """Return the record of a line, which comes without its end."""
        key, value = self._split(number, line)
        return Draft(number, self._nullable(key), self._nullable(value), self.headers)

    def _split(self, number: int, line: bytes) -> tuple[bytes | None, bytes]:
        if self.key_separator is None:
            return None, line
        key, found, value = line.partition(self.key_separator)
        if not found:
            shown = self.key_separator.decode(errors="backslashreplace")
            raise WrongLine(number, f"there is no key separator {shown!r} in it")
        return key, value

    def _nullable(self, data: bytes | None) -> bytes | None:
        return None if data == self.null_token else data
