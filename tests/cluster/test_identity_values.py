"""Cluster ids, and records and marks that are damaged or of a later format."""

import base64
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.cluster import NewerFormat, Unreadable, new_cluster_id
from dray.cluster.identity import CLUSTER_DOMAIN, RECORD_KEY
from dray.cluster.identity_plan import MARK_PATH
from dray.meta.port import ABSENT, Check, Put
from dray.runtime import SeededEntropy
from tests.cluster.stores import Stores


async def with_record(data: bytes) -> Stores:
    stores = Stores()
    await stores.meta().commit(CLUSTER_DOMAIN, [Check(RECORD_KEY, ABSENT)], [Put(RECORD_KEY, data)])
    return stores


def with_mark(data: bytes) -> Stores:
    stores = Stores()
    stores.bucket.put_new(MARK_PATH, [data])
    return stores


@given(st.integers())
def test_a_cluster_id_is_a_random_uuid_as_kafka_writes_it(seed: int) -> None:
    text = new_cluster_id(SeededEntropy(seed))
    assert len(text) == 22
    assert text[0] != "-"
    assert uuid.UUID(bytes=base64.urlsafe_b64decode(text + "==")).version == 4


class _Dashes(SeededEntropy):
    """Gives an id that would begin with a dash, then a good one."""

    def __init__(self) -> None:
        super().__init__(0)
        self._tokens = [b"\x00" * 16, b"\xf8" * 16]

    def token(self, size: int) -> bytes:
        return self._tokens.pop()


def test_a_cluster_id_that_would_look_like_a_flag_is_not_taken() -> None:
    assert new_cluster_id(_Dashes()) == "AAAAAAAAQACAAAAAAAAAAA"


NEWER = b'{"format":3,"cluster":{"id":"x"}}'


async def test_a_newer_format_is_told_by_either_store() -> None:
    words = r"was written by a newer Dray \(format 3, this build knows 1\): upgrade Dray"
    with pytest.raises(NewerFormat, match=rf"^key {RECORD_KEY} of the metadata store sqlite:m {words}"):
        await (await with_record(NEWER)).claim()
    with pytest.raises(NewerFormat, match=rf"^{MARK_PATH} in the object store s3://bucket/p {words}"):
        await with_mark(NEWER).claim()


DAMAGED = [
    b"",
    b"{",
    b"null",
    b"[1]",
    b"{}",
    b'{"format":"1"}',
    b'{"format":0,"cluster_id":"AAAAAAAAAAAAAAAAAAAAAA"}',
    b'{"format":1}',
    b'{"format":1,"cluster_id":"short","domains":1,"created_at_ms":1,"state":"formed"}',
    b'{"format":1,"cluster_id":"\xff\xff","domains":1,"created_at_ms":1,"state":"formed"}',
    b'{"x":' * 5000,
]


@pytest.mark.parametrize("data", DAMAGED, ids=lambda data: data[:20])
async def test_damage_is_told_with_the_place(data: bytes) -> None:
    with pytest.raises(
        Unreadable, match=rf"^key {RECORD_KEY} of the metadata store sqlite:m is not what Dray writes"
    ):
        await (await with_record(data)).claim()
    with pytest.raises(
        Unreadable, match=rf"^{MARK_PATH} in the object store s3://bucket/p is not what Dray writes"
    ):
        await with_mark(data).claim()


async def test_a_record_without_domains_is_damaged() -> None:
    data = (
        b'{"format":1,"cluster_id":"AAAAAAAAAAAAAAAAAAAAAA","domains":0,"created_at_ms":1,"state":"formed"}'
    )
    with pytest.raises(Unreadable, match="domains"):
        await (await with_record(data)).claim()


@given(st.binary(max_size=80) | st.text().map(str.encode))
async def test_any_bytes_are_told_apart_from_a_record(data: bytes) -> None:
    with pytest.raises((Unreadable, NewerFormat)):
        await (await with_record(data)).claim()
