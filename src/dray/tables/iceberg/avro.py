"""Avro decoding with bounds checks, for PyIceberg.

PyIceberg's compiled decoder trusts every length in a file: a damaged manifest makes it read past the end of
its buffer, and the process crashes. `BoundedDecoder` wraps it and checks each length first. PyIceberg has no
setting for that, so `use_bounded_decoder` replaces its function.

The buffer is padded, so that a number that begins inside it may end outside. `EOFError`, which PyIceberg
takes for the end of a file, is raised at the end only; a length that exceeds the rest is a `ValueError`.
"""

from typing import Final

import pyiceberg.avro.file
from pyiceberg.avro.decoder import BinaryDecoder
from pyiceberg.avro.decoder_fast import CythonBinaryDecoder

_PADDING: Final = bytes(16)
"""More than the longest number has."""


class BoundedDecoder(BinaryDecoder):
    """Decodes one buffer, and nothing beyond it."""

    def __init__(self, data: bytes) -> None:
        self._inner = CythonBinaryDecoder(data + _PADDING)
        self._size = len(data)

    def tell(self) -> int:
        return self._inner.tell()

    def read(self, n: int) -> bytes:
        self._require(n)
        return self._inner.read(n)

    def read_boolean(self) -> bool:
        self._require(1)
        return self._inner.read_boolean()

    def read_int(self) -> int:
        self._require(1)
        return self._inner.read_int()

    def read_ints(self, count: int) -> tuple[int, ...]:
        return tuple(self.read_int() for _ in range(count))

    def read_int_bytes_dict(self, count: int, dest: dict[int, bytes]) -> None:
        for _ in range(count):
            key = self.read_int()
            dest[key] = self.read_bytes()

    def read_bytes(self) -> bytes:
        return self.read(self.read_int())

    def read_utf8(self) -> str:
        return self.read_bytes().decode()

    def read_float(self) -> float:
        self._require(4)
        return self._inner.read_float()

    def read_double(self) -> float:
        self._require(8)
        return self._inner.read_double()

    def skip(self, n: int) -> None:
        self._require(n)
        self._inner.skip(n)

    def skip_int(self) -> None:
        self.read_int()

    def skip_boolean(self) -> None:
        self.skip(1)

    def skip_float(self) -> None:
        self.skip(4)

    def skip_double(self) -> None:
        self.skip(8)

    def skip_bytes(self) -> None:
        self.skip(self.read_int())

    def skip_utf8(self) -> None:
        self.skip_bytes()

    def _require(self, n: int) -> None:
        """Raise unless `n` bytes remain."""
        remaining = self._size - self._inner.tell()
        if 0 <= n <= remaining:
            return
        if remaining == 0:
            raise EOFError("end of the Avro file")
        raise ValueError(f"a length of {n} bytes in an Avro file, with {remaining} bytes left")


def use_bounded_decoder() -> None:
    """Make PyIceberg decode with bounds checks; may be called again."""
    pyiceberg.avro.file.new_decoder = BoundedDecoder  # type: ignore[attr-defined,assignment]
