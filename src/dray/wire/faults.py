"""What can go wrong between bytes and messages, sorted by what the caller must do.

    WireError
    ├── UnknownApi            close the connection: Kafka sends no answer
    ├── UnknownVersion        the same, except that ApiVersions is answered in version 0
    ├── BadFrame              close the connection: the length of a frame is absurd
    ├── DecodeError           close the connection: the bytes are not the message they claim to be
    │   ├── Truncated         a field reaches past the end of the bytes
    │   ├── BadLength         a count or a length that the bytes cannot hold, or a number without an end
    │   └── UnexpectedNull    null where the version has no null
    └── EncodeError           a fault in our program: the message cannot be said in this version

Decode errors carry the byte and the field. Compiled code raises them bare; `compiled.py` says where.
"""


class WireError(Exception):
    """Bytes or a message that this room cannot take."""


class UnknownApi(WireError):
    """No such API key."""

    def __init__(self, api_key: int) -> None:
        super().__init__(f"API key {api_key} is not known")
        self.api_key = api_key


class UnknownVersion(WireError):
    """The API has no such version."""

    def __init__(self, api_name: str, version: int, lowest: int, highest: int) -> None:
        super().__init__(f"{api_name} has versions {lowest} to {highest}, not {version}")
        self.version = version


class BadFrame(WireError):
    """A frame that is too short, too long or of negative length."""


class DecodeError(WireError):
    """Bytes that are not a message of the version they claim."""


class Truncated(DecodeError):
    """The bytes end before the message does."""


class BadLength(DecodeError):
    """A length that cannot be: more elements than bytes, a number that does not end, a wrong tag size."""


class UnexpectedNull(DecodeError):
    """Null where the version has none."""


class EncodeError(WireError):
    """A message that this version cannot express."""
