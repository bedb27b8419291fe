"""Random operations on the stores, compared with a dictionary."""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dray.meta.etcd import EtcdMetaSettings
from dray.meta.memory import DirectLink
from dray.meta.port import ABSENT, Check, Conflict, Delete, Entry, MetaStore, Put, Version, Versions, Write
from dray.meta.rules import depth
from dray.testing.contracts.meta_harness import D
from tests.meta.etcd_cluster import EtcdCluster
from tests.meta.etcd_harness import opened
from tests.meta.memory_harness import MemoryHarness
from tests.meta.oxia_harness import served
from tests.meta.sqlite_harness import SqliteHarness

Opened = Callable[[Callable[[MetaStore], Awaitable[None]]], Coroutine[None, None, None]]
KEYS = st.sampled_from(["a", "/a", "/b", "/é", "/a/a", "/a/b", "/b/a", "/\U0001f4a1", "/a\0", "//"])
WRITES = st.lists(
    st.one_of(st.builds(Put, KEYS, st.binary(max_size=5)), st.builds(Delete, KEYS)),
    max_size=4,
    unique_by=lambda write: write.key,
)


@dataclass(frozen=True)
class CommitOp:
    right: list[str]
    """Keys checked for their current version."""
    wrong: list[str]
    """Keys checked for another version."""
    writes: list[Write]


@dataclass(frozen=True)
class ScanOp:
    start: str
    end: str
    limit: int | None
    reverse: bool


COMMITS = st.builds(CommitOp, st.lists(KEYS, max_size=2), st.lists(KEYS, max_size=1), WRITES)
SCANS = st.builds(ScanOp, KEYS, KEYS, st.none() | st.integers(1, 3), st.booleans()).filter(
    lambda scan: depth(scan.start) == depth(scan.end)
)
OPERATIONS = st.lists(st.one_of(COMMITS, COMMITS, SCANS), max_size=25)


@dataclass
class Model:
    """The simplest store: a dictionary that is searched in full."""

    entries: dict[str, Entry] = field(default_factory=dict)
    seen: set[tuple[str, Version]] = field(default_factory=set)

    def version(self, key: str) -> Version:
        return self.entries[key].version if key in self.entries else ABSENT

    def write(self, writes: list[Write], versions: tuple[Version, ...]) -> None:
        for write, version in zip(writes, versions, strict=True):
            if isinstance(write, Delete):
                assert version == ABSENT
                self.entries.pop(write.key, None)
            else:
                assert (write.key, version) not in self.seen
                self.seen.add((write.key, version))
                self.entries[write.key] = Entry(write.key, write.value, version)

    def scan(self, op: ScanOp) -> list[Entry]:
        keys = [
            key
            for key in self.entries
            if depth(key) == depth(op.start) and op.start.encode() <= key.encode() < op.end.encode()
        ]
        keys.sort(key=str.encode, reverse=op.reverse)
        return [self.entries[key] for key in keys][: op.limit]


async def commit_both(store: MetaStore, model: Model, op: CommitOp) -> None:
    right = [Check(key, model.version(key)) for key in op.right]
    wrong = [Check(key, Version(model.version(key) + 1_000_000)) for key in op.wrong]
    outcome = await store.commit(D, right + wrong, op.writes)
    if op.wrong:
        assert outcome == Conflict(tuple(op.wrong))
    else:
        assert isinstance(outcome, Versions)
        model.write(op.writes, outcome.of)


async def follow_both(store: MetaStore, operations: list[CommitOp | ScanOp]) -> None:
    model = Model()
    for op in operations:
        if isinstance(op, CommitOp):
            await commit_both(store, model, op)
        else:
            found = await store.scan(D, op.start, op.end, limit=op.limit, reverse=op.reverse)
            assert found == model.scan(op)
    for key in ("a", "/a", "/a/a", "/é", "/a\0", "//"):
        assert await store.get(D, key) == model.entries.get(key)


async def with_memory(test: Callable[[MetaStore], Awaitable[None]]) -> None:
    harness = MemoryHarness(DirectLink())
    await test(await harness.open())
    await harness.close()


async def with_sqlite(test: Callable[[MetaStore], Awaitable[None]]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        harness = SqliteHarness(Path(directory) / "meta.db")
        await test(await harness.open())
        await harness.close()


async def with_oxia(test: Callable[[MetaStore], Awaitable[None]]) -> None:
    async with served() as harness:
        await test(await harness.open())


@given(OPERATIONS)
@settings(max_examples=200, deadline=None)
def test_memory_store_equals_the_model(operations: list[CommitOp | ScanOp]) -> None:
    asyncio.run(with_memory(lambda store: follow_both(store, operations)))


@given(OPERATIONS)
@settings(max_examples=40, deadline=None)
def test_sqlite_store_equals_the_model(operations: list[CommitOp | ScanOp]) -> None:
    asyncio.run(with_sqlite(lambda store: follow_both(store, operations)))


@pytest.mark.slow
@pytest.mark.real("etcd")
@given(OPERATIONS)
@settings(max_examples=60, deadline=None)
def test_etcd_store_equals_the_model(etcd: EtcdCluster, operations: list[CommitOp | ScanOp]) -> None:
    async def test() -> None:
        async with opened(etcd.addresses, EtcdMetaSettings(page_keys=2, history_ms=0)) as store:
            await follow_both(store, operations)

    asyncio.run(test())


@given(OPERATIONS)
@settings(max_examples=40, deadline=None)
def test_oxia_store_equals_the_model(operations: list[CommitOp | ScanOp]) -> None:
    asyncio.run(with_oxia(lambda store: follow_both(store, operations)))


@pytest.mark.parametrize("opened", [with_sqlite, with_oxia])
@given(commits=st.lists(COMMITS, max_size=20))
@settings(max_examples=40, deadline=None)
def test_group_of_commits_equals_sequential_commits(opened: Opened, commits: list[CommitOp]) -> None:
    """Concurrent commits are put into one transaction; the outcome must be that of their order."""

    async def test(store: MetaStore) -> None:
        ops = [CommitOp([], [], op.writes) for op in commits]
        outcomes = await asyncio.gather(*(store.commit(D, [], op.writes) for op in ops))
        model = Model()
        for op, outcome in zip(ops, outcomes, strict=True):
            assert isinstance(outcome, Versions)
            model.write(op.writes, outcome.of)
        for key in ("a", "/a", "/b", "/a/a", "/a/b", "/b/a"):
            assert await store.get(D, key) == model.entries.get(key)

    asyncio.run(opened(test))
