"""Kernel throughput of one core: record batches to columns and back, to Parquet and back.

Bars: what the first experiments reached on a shared two-core machine, with checksums and all columns. Records
have no keys, and values of words, which zstd can compress: with it, decoding is mostly decompression.

Run it with `python -m benchmarks kernels`.
"""

import io
import random
import time
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from benchmarks.figures import Figure
from dray.formats import parquet_v1
from dray.records import Codec, Record, encode_batch
from dray.records.columns import StoredBatch, decode, encode

KIB = 1024
NOW_MS = 1_700_000_000_000
TOTAL_BYTES = 16 * KIB * KIB
_WORDS = 500


@dataclass(frozen=True, slots=True)
class _Case:
    value_bytes: int
    batch_bytes: int
    decode_bar: float
    encode_bar: float

    @property
    def label(self) -> str:
        value = f"{self.value_bytes} B" if self.value_bytes < KIB else f"{self.value_bytes // KIB} KiB"
        return f"{value}, {self.batch_bytes // KIB} KiB batches"


CASES = (
    _Case(100, 16 * KIB, decode_bar=8.8, encode_bar=12),
    _Case(100, KIB * KIB, decode_bar=15, encode_bar=27),
    _Case(KIB, 16 * KIB, decode_bar=2.9, encode_bar=2.1),
    _Case(KIB, KIB * KIB, decode_bar=2.9, encode_bar=4),
)


def run(*, seconds: float, total_bytes: int = TOTAL_BYTES) -> list[Figure]:
    """Measure everything, for about `seconds` in all."""
    each = seconds / (3 * len(CASES) + 3)
    figures = [figure for case in CASES for figure in _kernel_figures(case, total_bytes, each)]
    return figures + _parquet_figures(total_bytes, each)


def _kernel_figures(case: _Case, total_bytes: int, seconds: float) -> list[Figure]:
    plain, packed = (_batches(case, codec, total_bytes) for codec in (Codec.NONE, Codec.ZSTD))
    columns = list(decode(0, plain))
    rows = sum(chunk.num_rows for chunk in columns)
    size_bytes = rows * case.value_bytes
    calls: list[tuple[str, Callable[[], None], float | None]] = [
        (f"decode {case.label}", lambda: _decode_all(plain), case.decode_bar),
        (f"decode {case.label}, zstd", lambda: _decode_all(packed), None),
        (f"encode {case.label}", lambda: _encode_all(columns, case.batch_bytes), case.encode_bar),
    ]
    figures = []
    for name, call, bar in calls:
        took = _best_seconds(call, seconds)
        figures.append(Figure(name, rows / took / 1e6, "Mrec/s", bar))
        figures.append(Figure(name, size_bytes / took / 1e6, "MB/s"))
    return figures


def _parquet_figures(total_bytes: int, seconds: float) -> list[Figure]:
    columns = list(decode(0, _batches(CASES[1], Codec.NONE, total_bytes)))
    size_bytes = sum(chunk.num_rows for chunk in columns) * CASES[1].value_bytes
    whole, file = _written(columns)
    group = file.groups[0]
    data = whole[group.position : group.position + group.length]
    rows = parquet_v1.read_group(file.footer, 0, group.position, data)
    writing = _best_seconds(lambda: _written(columns), seconds)
    reading = _best_seconds(lambda: parquet_v1.read_group(file.footer, 0, group.position, data), seconds)
    encoding = _best_seconds(lambda: encode(rows), seconds)
    return [
        Figure("write Parquet, 100 B", size_bytes / writing / 1e6, "MB/s", bar=150),
        Figure(f"read a row group of {group.row_count} rows", reading * 1e3, "ms"),
        Figure("encode it", encoding * 1e3, "ms"),
    ]


def _batches(case: _Case, codec: Codec, total_bytes: int) -> list[StoredBatch]:
    """About `total_bytes` of batches, each in its own memory, so that the CPU cache is not measured."""
    count = max(1, case.batch_bytes // (case.value_bytes + 8))
    records = [
        Record(offset, NOW_MS + offset, None, value) for offset, value in enumerate(_values(case, count))
    ]
    batch = encode_batch(records, codec=codec)
    copies = max(1, total_bytes // (count * case.value_bytes))
    return [StoredBatch(number * count, bytearray(batch)) for number in range(copies)]


def _values(case: _Case, count: int) -> list[bytes]:
    chance = random.Random(1)
    words = [bytes(chance.choices(b"abcdefghijklmnop", k=8)) for _ in range(_WORDS)]
    return [
        b" ".join(chance.choices(words, k=case.value_bytes // 9 + 1))[: case.value_bytes]
        for _ in range(count)
    ]


def _decode_all(batches: list[StoredBatch]) -> None:
    for _ in decode(0, batches):
        pass


def _encode_all(columns: list[pa.RecordBatch], batch_bytes: int) -> None:
    for chunk in columns:
        encode(chunk, batch_bytes=batch_bytes)


def _written(columns: list[pa.RecordBatch]) -> tuple[bytes, parquet_v1.WrittenFile]:
    output = io.BytesIO()
    writer = parquet_v1.FileWriter(output)
    for chunk in columns:
        writer.write(chunk)
    file = writer.close()
    return output.getvalue(), file


def _best_seconds(call: Callable[[], object], seconds: float) -> float:
    """Return the best of many rounds: the cost when nothing else runs. The first call may compile."""
    call()
    deadline = time.perf_counter() + seconds
    best = _timed(call)
    while time.perf_counter() < deadline:
        best = min(best, _timed(call))
    return best


def _timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
