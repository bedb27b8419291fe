"""Points in time as people read and write them; Kafka counts them in milliseconds since 1970."""

from datetime import UTC, datetime, timedelta
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MS: Final = timedelta(milliseconds=1)


def iso(ms: int) -> str:
    """Return a time in UTC, to the millisecond; a number that no calendar has stays a number."""
    if ms < 0:
        return str(ms)
    try:
        return (_EPOCH + ms * _MS).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except OverflowError:
        return str(ms)


def parse_iso(text: str) -> int:
    """Return the milliseconds of an ISO 8601 time; without a zone it is the local one. Or `ValueError`."""
    return (datetime.fromisoformat(text).astimezone(UTC) - _EPOCH) // _MS
