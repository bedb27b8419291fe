"""Damage of WAL objects, which compactors then cannot convert, for a while or for good.

Only compactors see the damage: brokers serve such an object as it was written, so all guarantees for readers
still hold. The kind of damage is drawn when an object is damaged.
"""

from collections.abc import Collection
from random import Random
from typing import Final, Literal

from typing_extensions import Buffer

from dray.objects.port import NotFound, OutOfRange
from dray.records.header import CRC_START, HEADER_BYTES
from dray.records.primitives import crc32c
from dray.scan.ranges import Read

Kind = Literal["missing", "truncated", "corrupt", "unreadable"]
_KINDS: Final[tuple[Kind, ...]] = ("missing", "truncated", "corrupt", "unreadable")
_ODDS: Final = 0.35
_DAMAGE_ODDS: Final = 0.8
_LENGTH_BYTES: Final = 4
_CRC_AT: Final = 17


class Damage:
    """The damaged objects and their kinds of damage."""

    def __init__(self, seed: int) -> None:
        self._random = Random(f"damage {seed}")
        self.happens = self._random.random() < _ODDS
        self._kinds: dict[str, Kind] = {}

    def __contains__(self, path: str) -> bool:
        return path in self._kinds

    def change(self, paths: Collection[str]) -> str:
        """Damage one of these objects, or restore one; return a description of the change."""
        if self._kinds and self._random.random() > _DAMAGE_ODDS:
            path = self._random.choice(sorted(self._kinds))
            del self._kinds[path]
            return f"restored {path}"
        valid = sorted(set(paths) - self._kinds.keys())
        if not valid:
            return ""
        path = self._random.choice(valid)
        kind = self._kinds[path] = self._random.choice(_KINDS)
        return f"damaged {path}: {kind}"

    def delay_s(self) -> float:
        return self._random.uniform(0.05, 0.6)

    def settle(self, paths: Collection[str]) -> None:
        """Restore all objects, or damage some of these for good."""
        if self._random.random() < 0.5:
            self._kinds.clear()
            return
        for path in sorted(paths):
            if self._random.random() < 0.5:
                self._kinds[path] = self._random.choice(_KINDS)

    def applied(self, read: Read, found: Buffer) -> Buffer:
        """Return the bytes that a compactor reads; raises `NotFound` and `OutOfRange`."""
        match self._kinds.get(read.path):
            case None:
                return found
            case "missing":
                raise NotFound(f"{read.path} is damaged by the simulation")
            case "truncated":
                raise OutOfRange(f"{read.path} is damaged by the simulation")
            case "corrupt":
                whole = bytes(found)
                return whole[:-1] + bytes([whole[-1] ^ 0xFF])
            case "unreadable":
                return _without_records(bytes(found))


def _without_records(chunk: bytes) -> bytes:
    """Overwrite the payload of the first batch, which its length precedes, and correct its checksum."""
    end = _LENGTH_BYTES + int.from_bytes(chunk[:_LENGTH_BYTES], "big")
    batch = bytearray(chunk[_LENGTH_BYTES:end])
    batch[HEADER_BYTES:] = b"\xff" * (len(batch) - HEADER_BYTES)
    batch[_CRC_AT:CRC_START] = crc32c(bytes(batch[CRC_START:])).to_bytes(4, "big")
    return chunk[:_LENGTH_BYTES] + bytes(batch) + chunk[end:]
