"""Times of the last reference checks, which guard the deletion of Parquet files.

A deletion marker is written once, when the index drops a file, but the table may reference the file again
later, when a user rolls it back to an earlier snapshot. So a file may be deleted only soon after a check that
the table does not reference it. Brokers delete files but have no catalog: a compactor reads the table,
postpones the markers of the files that it references, and only then records here, for each topic, the time at
which the check began. Markers whose grace period had ended by then have been checked.

If there is no record, no compactor has ever run, so there is no table, and the markers alone decide.
"""

from typing import Final

import msgspec

from dray.index.files import FileGcMarker
from dray.index.stored import decoded

CHECK_VALID_MS: Final = 120_000
"""How long a check is valid; the table may be changed at any time."""


class ReferenceChecks(msgspec.Struct, frozen=True, array_like=True, tag="q1"):
    """Start of the last check by topic id in hexadecimal, for topics with files to delete."""

    topics: dict[str, int] = {}

    def allows(self, mark: FileGcMarker, now_ms: int) -> bool:
        """Return whether a valid check covers a marked file: one that began after its grace period ended."""
        checked_ms = self.topics.get(mark.topic.topic_id.hex())
        return (
            checked_ms is not None
            and mark.delete_after_ms <= checked_ms
            and checked_ms > now_ms - CHECK_VALID_MS
        )


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(ReferenceChecks)


def encode_checks(checks: ReferenceChecks) -> bytes:
    return _encoder.encode(checks)


def decode_checks(key: str, value: bytes) -> ReferenceChecks:
    return decoded(_decoder, key, value, "reference checks")
