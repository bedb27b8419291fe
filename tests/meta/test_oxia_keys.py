"""Names of keys in Oxia, stored values, and shards: properties."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dray.ids import Domain
from dray.meta.oxia import OxiaMetaSettings
from dray.meta.oxia import api_pb2 as api
from dray.meta.oxia.assignments import ShardMap
from dray.meta.oxia.client import OxiaClient
from dray.meta.oxia.keys import (
    data_key,
    data_prefix,
    ephemeral_key,
    ephemeral_range,
    head_key,
    key_of,
    parse_ephemeral_key,
)
from dray.meta.oxia.records import (
    PLACEHOLDER,
    WRITERS_MAX,
    Head,
    Redo,
    RedoDelete,
    RedoPut,
    TransactionId,
    decode_head,
    decode_record,
    encode_head,
    encode_placeholder,
    encode_record,
    reserves,
)
from dray.meta.port import SessionId, StoreUnusable, Unavailable
from dray.meta.rules import depth
from dray.runtime import SystemClock

KEYS = st.text(st.sampled_from("a.0/12!\0é\U0001f4a1"), min_size=1, max_size=8)
NAMES = KEYS.map(Domain)
TOKENS = st.binary(min_size=1, max_size=16).map(bytes.hex).map(SessionId)


@given(NAMES, KEYS, KEYS)
def test_names_sort_like_their_keys(domain: Domain, one: str, other: str) -> None:
    names = [data_key(domain, one).encode(), data_key(domain, other).encode()]
    expected = (depth(one), one.encode()) < (depth(other), other.encode())
    assert (names[0] < names[1]) == expected


@given(NAMES, KEYS)
def test_key_is_recovered_from_its_name(domain: Domain, key: str) -> None:
    name = data_key(domain, key)
    assert "/" not in name
    assert key_of(name, data_prefix(domain)) == key


@given(NAMES, NAMES, KEYS)
def test_names_of_two_domains_differ(one: Domain, other: Domain, key: str) -> None:
    assume(one != other)
    assert not data_key(one, key).startswith(data_prefix(other))
    assert head_key(one) != head_key(other)


@given(NAMES, TOKENS, KEYS)
def test_ephemeral_key_is_recovered_and_in_the_range_of_its_session(
    domain: Domain, session: SessionId, key: str
) -> None:
    name = ephemeral_key(domain, session, key)
    start, end = ephemeral_range(domain, session)
    assert start.encode() <= name.encode() < end.encode()
    assert parse_ephemeral_key(name) == (domain, session, key)


@given(st.binary(), st.none() | TOKENS)
def test_record_is_decoded(value: bytes, session: SessionId | None) -> None:
    record = decode_record(encode_record(value, session))
    assert (record.value, record.session, record.reserved_by) == (value, session, None)


def test_placeholder_belongs_to_one_transaction() -> None:
    record = decode_record(encode_placeholder(TransactionId(b"writer", 7)))
    assert reserves(record, TransactionId(b"writer", 7))
    assert not reserves(record, TransactionId(b"writer", 8))
    assert encode_placeholder(TransactionId(b"writer", 7))[0] == PLACEHOLDER


@pytest.mark.parametrize("data", [b"", b"\x07", b"\xff\xff"])
def test_foreign_record_is_refused(data: bytes) -> None:
    with pytest.raises(StoreUnusable):
        decode_record(data)


def test_head_is_decoded_and_a_foreign_one_refused() -> None:
    redo = Redo((RedoPut("a", b"1", None), RedoPut("b", b"2", 4)), (RedoDelete("c", 5),))
    head = Head().with_pending(-1, TransactionId(b"writer", 1), redo)
    assert decode_head(encode_head(head)) == head
    with pytest.raises(StoreUnusable, match="belong to Dray"):
        decode_head(b"\xc1")


def test_head_remembers_the_last_transaction_of_each_writer() -> None:
    head = Head()
    for number in range(3 * WRITERS_MAX):
        id = TransactionId(b"%d" % (number % WRITERS_MAX), number)  # noqa: A001
        head = head.with_pending(number, id, Redo()).applied()
    assert len(head.committed) == WRITERS_MAX
    assert head.evicted == 0
    for number in range(2 * WRITERS_MAX, 3 * WRITERS_MAX - 1):
        done = head.find(TransactionId(b"%d" % (number % WRITERS_MAX), number))
        assert done is not None
        assert (done.number, done.applied) == (number + 1, number + 1)


def test_head_knows_which_transactions_it_has_forgotten() -> None:
    head = Head()
    for number in range(WRITERS_MAX + 10):
        head = head.with_pending(number, TransactionId(b"%d" % number, 1), Redo()).applied()
    assert head.find(TransactionId(b"9", 1)) is None
    assert head.find(TransactionId(b"10", 1)) is not None
    assert head.evicted == 10


def test_version_is_recorded_before_the_head_is_written_again() -> None:
    head = Head().with_pending(-1, TransactionId(b"writer", 1), Redo())
    assert head.settled(8) == head  # pending: its version is not known yet
    settled = head.applied().settled(9)
    assert [done.applied for done in settled.committed] == [9]
    assert settled.settled(12) == settled


def test_shards_are_chosen_as_by_oxia() -> None:
    """The hash of `foo` is that of Oxia's own tests."""
    shards = ShardMap(((0, 125730185, 1), (125730186, 125730186, 2), (125730187, 2**32 - 1, 3)))
    assert shards.shard_of("foo") == 2
    with pytest.raises(Unavailable):
        ShardMap(((0, 5, 1),)).shard_of("foo")


def test_unknown_router_is_refused() -> None:
    with pytest.raises(StoreUnusable, match="XXH3"):
        ShardMap.of(api.NamespaceShards())


@pytest.mark.parametrize(
    "request_",
    [
        api.WriteRequest(puts=[api.PutRequest(key="a", partition_key="p", sequence_key_delta=[1])]),
        api.WriteRequest(puts=[api.PutRequest(key="a")]),
        api.WriteRequest(puts=[api.PutRequest(partition_key="p")]),
        api.WriteRequest(deletes=[api.DeleteRequest()]),
        api.WriteRequest(delete_ranges=[api.DeleteRangeRequest(start_inclusive="a", end_exclusive="b")]),
    ],
    ids=["sequence put", "no partition key", "no key", "deletion without a key", "range deletion"],
)
async def test_malformed_request_is_never_sent(request_: api.WriteRequest) -> None:
    client = OxiaClient(OxiaMetaSettings(), SystemClock())
    with pytest.raises(ValueError, match="must"):
        await client.write(0, request_)


@pytest.mark.parametrize(
    ("url", "endpoints", "namespace"),
    [
        ("oxia://one:1", ("one:1",), "default"),
        ("oxia://one:1/dray", ("one:1",), "dray"),
        ("oxia://one:1,two:2/dray", ("one:1", "two:2"), "dray"),
        ("oxia://one", ("one:6648",), "default"),
        ("oxia://[::1]/dray", ("[::1]:6648",), "dray"),
    ],
)
def test_address_is_parsed(url: str, endpoints: tuple[str, ...], namespace: str) -> None:
    settings = OxiaMetaSettings.at(url)
    assert (settings.endpoints, settings.namespace) == (endpoints, namespace)


@pytest.mark.parametrize("url", ["http://one:1", "oxia://", "oxia:///dray", "oxia://one/a/b"])
def test_wrong_address_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="expected oxia://"):
        OxiaMetaSettings.at(url)
