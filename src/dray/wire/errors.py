"""Errors of encoding and decoding, sorted by what the caller must do.

    WireError
    ├── UnknownApi            close the connection: Kafka sends no response
    ├── UnknownVersion        the same, but ApiVersions is answered in version 0
    ├── DecodeError           close the connection: the bytes are not the message they claim to be
    │   ├── Truncated         a field reaches past the end of the bytes
    │   ├── BadLength         a count or length that exceeds the bytes, or a malformed integer
    │   └── UnexpectedNull    null in a field that is not nullable in this version
    └── EncodeError           a bug: the message cannot be expressed in this version

Decode errors name the byte and the field. Compiled code raises them without; `error_location` adds them.
"""


class WireError(Exception):
    """Base of all errors of this package."""


class UnknownApi(WireError):
    """There is no API with this key."""

    def __init__(self, api_key: int) -> None:
        super().__init__(f"unknown API key {api_key}")
        self.api_key = api_key


class UnknownVersion(WireError):
    """The API does not have this version."""

    def __init__(self, api_name: str, version: int, lowest: int, highest: int) -> None:
        super().__init__(f"{api_name} has versions {lowest} to {highest}, not {version}")
        self.version = version


class DecodeError(WireError):
    """The bytes are not a message of this version."""


class Truncated(DecodeError):
    """The bytes end before the message does."""


class BadLength(DecodeError):
    """An impossible length: more elements than bytes, an overlong integer, a wrong size of a tagged field."""


class UnexpectedNull(DecodeError):
    """Null in a field that is not nullable in this version."""


class EncodeError(WireError):
    """The message cannot be expressed in this version."""
