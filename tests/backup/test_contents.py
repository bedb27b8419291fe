"""Contents of a backup whose domains are read at different moments, while the cluster changes."""

from collections.abc import AsyncGenerator, Awaitable, Callable

import pytest

from dray.backup.contents import all_domains, contents
from dray.backup.errors import TornBackup
from dray.cluster.topics import decode_topic
from dray.ids import Domain, LoadId, MetaDomain, TopicRef
from dray.index.loads import Load, LoadState, encode_load
from dray.keyspace import CLUSTER_DOMAIN, TOPICS_PREFIX, load_key, log_domain, topic_key
from dray.meta.port import Delete, Entry, MetaStore, Put
from tests.backup.worlds import CLOCK, DOMAINS, Keys, memory_store, put_all, topic, topic_keys

LOAD = LoadId(b"l" * 16)
FAR_MS = 2**50
Step = Callable[[MetaStore], Awaitable[object]]


class SlowSnapshot:
    """Reads each domain when it is asked for, as in Oxia; `before` changes the store ahead of a read."""

    position = None

    def __init__(self, meta: MetaStore, before: dict[int, Step]) -> None:
        self._meta = meta
        self._before = before
        self._reads = 0

    async def read(self, domain: Domain) -> AsyncGenerator[list[Entry], None]:
        self._reads += 1
        if (step := self._before.get(self._reads)) is not None:
            await step(self._meta)
        async with self._meta.snapshot() as snapshot:
            async for page in snapshot.read(domain):
                yield page


TOPICS_READ = 1
LAST_READ = 1 + len(all_domains(DOMAINS))


async def read(meta: MetaStore, before: dict[int, Step]) -> Keys:
    found = contents(SlowSnapshot(meta, before), DOMAINS, CLOCK)
    return {(domain, record.key): record.value async for domain, records in found for record in records}


def names(keys: Keys) -> dict[str, int]:
    """Return the saved topics with their numbers of partitions; each has all its heads."""
    topics = [decode_topic(key, value) for (_, key), value in keys.items() if key.startswith(TOPICS_PREFIX)]
    for made in topics:
        heads = set(topic_keys(made)) - {(CLUSTER_DOMAIN, topic_key(made.name))}
        assert heads <= keys.keys(), f"{made.name} lacks a head"
    return {made.name: len(made.streams) for made in topics}


def create(name: str, *streams: int) -> Step:
    async def step(meta: MetaStore) -> None:
        keys = topic_keys(topic(name, *streams))
        record = (CLUSTER_DOMAIN, topic_key(name))
        await put_all(meta, {place: value for place, value in keys.items() if place != record})
        await put_all(meta, {record: keys[record]})

    return step


def delete(name: str, *streams: int) -> Step:
    async def step(meta: MetaStore) -> None:
        await meta.commit(CLUSTER_DOMAIN, [], [Delete(topic_key(name))])
        for domain, key in topic_keys(topic(name, *streams)):
            await meta.commit(domain, [], [Delete(key)])

    return step


@pytest.mark.parametrize("at", range(TOPICS_READ + 1, LAST_READ + 1))
async def test_saved_topic_has_all_its_heads(at: int) -> None:
    """At each moment of the backup one topic is created, one deleted, and one gets another partition."""
    async with memory_store() as meta:
        await create("deleted", 1, 2, 3)(meta)
        await create("grown", 4, 5)(meta)
        await create("same", 6)(meta)

        async def change(meta: MetaStore) -> None:
            await create("created", 11, 12, 13)(meta)
            await delete("deleted", 1, 2, 3)(meta)
            await create("grown", 4, 5, 7)(meta)

        assert names(await read(meta, {at: change})) == {"grown": 2, "same": 1}


async def test_topic_that_is_created_again_meanwhile_is_left_out() -> None:
    async with memory_store() as meta:
        await create("again", 1)(meta)

        async def change(meta: MetaStore) -> None:
            await delete("again", 1)(meta)
            other = topic("again", 2)
            other = type(other)(other.name, b"another id......", other.streams, {}, 2)
            await put_all(meta, topic_keys(other))

        assert names(await read(meta, {3: change})) == {}


def load(state: LoadState, *domains: int, expires_at_ms: int = FAR_MS) -> bytes:
    ref = TopicRef("t", b"t" * 16)
    return encode_load(Load(ref, tuple(map(MetaDomain, domains)), state, 1, 1, expires_at_ms))


async def saved_with_loads(states: dict[int, bytes]) -> Keys:
    async with memory_store() as meta:
        for number, value in states.items():
            domain = MetaDomain(number)
            await meta.commit(log_domain(domain), [], [Put(load_key(domain, LOAD), value)])
        return await read(meta, {})


@pytest.mark.parametrize(
    ("home", "other", "is_torn"),
    [
        (LoadState.OPEN, LoadState.OPEN, False),
        (LoadState.OPEN, LoadState.COMMITTED, True),
        (LoadState.PUBLISHING, LoadState.OPEN, False),
        (LoadState.PUBLISHING, LoadState.COMMITTED, False),
        (LoadState.COMMITTED, LoadState.OPEN, True),
        (LoadState.COMMITTED, LoadState.COMMITTED, False),
        (LoadState.CONDEMNED, LoadState.OPEN, False),
        (None, LoadState.OPEN, False),
        (None, LoadState.COMMITTED, True),
    ],
)
async def test_half_a_bulk_load_is_not_saved(home: LoadState | None, other: LoadState, is_torn: bool) -> None:
    states = {1: load(other, 0, 1)}
    if home is not None:
        states[0] = load(home, 0, 1)
    if not is_torn:
        assert len(await saved_with_loads(states)) == len(states)
        return
    with pytest.raises(TornBackup, match=r"6c6c.* was committed during the backup; try again"):
        await saved_with_loads(states)


async def test_load_whose_home_record_has_expired_is_saved() -> None:
    assert await saved_with_loads({1: load(LoadState.COMMITTED, 0, 1, expires_at_ms=5)})
