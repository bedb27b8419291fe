"""Fixture that compiles or loads the kernels before the first test that is timed."""

import pytest

from dray.records import Record, encode_batch
from dray.records.columns import StoredBatch, decode, encode


@pytest.fixture(scope="session", autouse=True)
def _compiled_kernels() -> None:
    for rows in decode(0, [StoredBatch(0, encode_batch([Record(0, 0, None, b"warm")]))]):
        encode(rows)
