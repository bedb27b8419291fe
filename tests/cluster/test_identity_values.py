"""Cluster ids, and records and marks that are damaged or of another format."""

import base64
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.cluster import NewerFormat, OlderFormat, Unreadable, new_cluster_id
from dray.cluster.identity_plan import MARK_PATH
from dray.keyspace import CLUSTER_DOMAIN, CLUSTER_KEY
from dray.meta.port import ABSENT, Check, Put
from dray.testing.entropy import SeededEntropy
from tests.cluster.stores import Stores


async def with_record(data: bytes) -> Stores:
    stores = Stores()
    await stores.meta().commit(CLUSTER_DOMAIN, [Check(CLUSTER_KEY, ABSENT)], [Put(CLUSTER_KEY, data)])
    return stores


def with_mark(data: bytes) -> Stores:
    stores = Stores()
    stores.bucket.put_new(MARK_PATH, [data])
    return stores


@given(st.integers())
def test_cluster_id_is_a_random_uuid_in_kafkas_format(seed: int) -> None:
    text = new_cluster_id(SeededEntropy(seed))
    assert len(text) == 22
    assert text[0] != "-"
    assert uuid.UUID(bytes=base64.urlsafe_b64decode(text + "==")).version == 4


class _Dashes(SeededEntropy):
    """Returns an id that would begin with a dash, then a valid one."""

    def __init__(self) -> None:
        super().__init__(0)
        self._tokens = [b"\x00" * 16, b"\xf8" * 16]

    def token(self, size: int) -> bytes:
        return self._tokens.pop()


def test_cluster_id_never_begins_with_a_dash() -> None:
    assert new_cluster_id(_Dashes()) == "AAAAAAAAQACAAAAAAAAAAA"


NEWER = b'{"format":3,"cluster":{"id":"x"}}'


async def test_newer_format_is_refused_by_either_store() -> None:
    words = r"was written by a newer Dray \(format 3, this build knows 2\): upgrade Dray"
    with pytest.raises(NewerFormat, match=rf"^key {CLUSTER_KEY} of the metadata store sqlite:m {words}"):
        await (await with_record(NEWER)).claim()
    with pytest.raises(NewerFormat, match=rf"^{MARK_PATH} in the object store s3://bucket/p {words}"):
        await with_mark(NEWER).claim()


RECORD_1 = (
    b'{"format":1,"cluster_id":"AAAAAAAAAAAAAAAAAAAAAA","domains":3,"created_at_ms":1,"state":"formed"}'
)
MARK_1 = b'{"format":1,"cluster_id":"AAAAAAAAAAAAAAAAAAAAAA"}'


async def test_older_format_is_refused_by_either_store_and_left_unchanged() -> None:
    words = (
        r"was written by an older Dray \(format 1, this build reads 2 only\): "
        r"start with an empty data directory and bucket, or use the Dray that wrote these$"
    )
    stores = await with_record(RECORD_1)
    with pytest.raises(OlderFormat, match=rf"^key {CLUSTER_KEY} of the metadata store sqlite:m {words}"):
        await stores.claim()
    stored = await stores.meta().get(CLUSTER_DOMAIN, CLUSTER_KEY)
    assert stored is not None
    assert stored.value == RECORD_1
    with pytest.raises(OlderFormat, match=rf"^{MARK_PATH} in the object store s3://bucket/p {words}"):
        await with_mark(MARK_1).claim()


DAMAGED = [
    b"",
    b"{",
    b"null",
    b"[1]",
    b"{}",
    b'{"format":"1"}',
    b'{"format":0,"cluster_id":"AAAAAAAAAAAAAAAAAAAAAA"}',
    b'{"format":2}',
    b'{"format":2,"cluster_id":"short","domains":1,"created_at_ms":1,"state":"formed"}',
    b'{"format":2,"cluster_id":"\xff\xff","domains":1,"created_at_ms":1,"state":"formed"}',
    b'{"x":' * 5000,
]


@pytest.mark.parametrize("data", DAMAGED, ids=lambda data: data[:20])
async def test_damaged_value_is_reported_with_its_place(data: bytes) -> None:
    with pytest.raises(
        Unreadable, match=rf"^key {CLUSTER_KEY} of the metadata store sqlite:m was not written by Dray"
    ):
        await (await with_record(data)).claim()
    with pytest.raises(
        Unreadable, match=rf"^{MARK_PATH} in the object store s3://bucket/p was not written by Dray"
    ):
        await with_mark(data).claim()


async def test_record_with_zero_domains_is_damaged() -> None:
    data = (
        b'{"format":2,"cluster_id":"AAAAAAAAAAAAAAAAAAAAAA","domains":0,"created_at_ms":1,"state":"formed"}'
    )
    with pytest.raises(Unreadable, match="domains"):
        await (await with_record(data)).claim()


@given(st.binary(max_size=80) | st.text().map(str.encode))
async def test_arbitrary_bytes_are_never_taken_for_a_record(data: bytes) -> None:
    with pytest.raises((Unreadable, NewerFormat, OlderFormat)):
        await (await with_record(data)).claim()
