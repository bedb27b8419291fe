"""Records on their way to a batch. Pure.

A batch is filled by an estimate that is never too small, then encoded once, with its sequence number. The
very same bytes are sent again when something goes wrong, so that a broker can tell a repetition.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dray.records import HEADER_BYTES, NO_PRODUCER, NO_SEQUENCE, Codec, Record, encode_batch

_RECORD_OVERHEAD_BYTES: Final = 32
_HEADER_OVERHEAD_BYTES: Final = 10
_NO_EPOCH: Final = -1


@dataclass(frozen=True, slots=True)
class Draft:
    """A record that is to be sent; `line` is where it came from, for messages."""

    line: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp_ms: int | None = None
    partition: int | None = None

    @property
    def size_bytes(self) -> int:
        """What it may take in a batch, at most."""
        headers = sum(
            len(key) * 4 + len(value or b"") + _HEADER_OVERHEAD_BYTES for key, value in self.headers
        )
        return len(self.key or b"") + len(self.value or b"") + headers + _RECORD_OVERHEAD_BYTES


@dataclass(frozen=True, slots=True)
class ProducerIdentity:
    """Who sends; without an id, repetitions cannot be told from new records."""

    producer_id: int = NO_PRODUCER
    epoch: int = _NO_EPOCH

    @property
    def idempotent(self) -> bool:
        return self.producer_id != NO_PRODUCER


ANONYMOUS: Final = ProducerIdentity()


@dataclass(frozen=True, slots=True)
class Sealed:
    """A batch, encoded, and what is to be told of it."""

    encoded: bytes
    lines: tuple[int, ...]
    plain_bytes: int
    """Keys and values, as people count them."""
    held_bytes: int
    """What was taken from the budget for it."""


class OpenBatch:
    """A batch that still takes records."""

    def __init__(self) -> None:
        self._drafts: list[Draft] = []
        self._times: list[int] = []
        self.size_bytes = HEADER_BYTES

    def has_room(self, draft: Draft, batch_bytes: int) -> bool:
        """Whether it fits; the first one always does."""
        return not self._drafts or self.size_bytes + draft.size_bytes <= batch_bytes

    def add(self, draft: Draft, now_ms: int) -> None:
        self._drafts.append(draft)
        self._times.append(now_ms if draft.timestamp_ms is None else draft.timestamp_ms)
        self.size_bytes += draft.size_bytes

    def __len__(self) -> int:
        return len(self._drafts)

    def seal(self, codec: Codec, identity: ProducerIdentity, sequence: int) -> Sealed:
        drafts = self._drafts
        return Sealed(
            encoded=encode_batch(
                [_record(number, one, self._times[number]) for number, one in enumerate(drafts)],
                codec=codec,
                producer_id=identity.producer_id,
                producer_epoch=identity.epoch,
                base_sequence=sequence if identity.idempotent else NO_SEQUENCE,
            ),
            lines=tuple(draft.line for draft in drafts),
            plain_bytes=sum(len(draft.key or b"") + len(draft.value or b"") for draft in drafts),
            held_bytes=sum(draft.size_bytes for draft in drafts),
        )


def lines_shown(lines: Sequence[int]) -> str:
    """Say which lines: one, or from where to where."""
    first, last = min(lines), max(lines)
    return f"line {first}" if first == last else f"lines {first} to {last}"


def _record(number: int, draft: Draft, timestamp_ms: int) -> Record:
    return Record(number, timestamp_ms, draft.key, draft.value, draft.headers)
