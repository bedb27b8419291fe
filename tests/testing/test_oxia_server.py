"""The server of Oxia's protocol: its semantics, its log, and the same answers as a real server."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dray.meta.oxia import api_pb2 as api
from dray.meta.oxia.access import OxiaAccess
from dray.meta.oxia.channels import Channels
from dray.meta.port import Unavailable
from dray.runtime import SystemClock
from dray.testing.oxia_server import OxiaServer, OxiaServerSettings, ScriptedFaults
from dray.testing.oxia_server.faults import slow
from dray.testing.oxia_server.log import read_entries
from dray.testing.oxia_server.order import encoder
from dray.testing.oxia_server.shard import LogEntry, Shard
from tests.meta import real_oxia

KEYS = ["a", "b", "/a", "/b", "/a/x", "/a0/x", "/a b/x", "/a/x/y", "/é", "c/"]
TIMEOUT_S = 10.0
EARLIEST, LATEST = "", "\U0010ffff/////"

puts = st.builds(
    api.PutRequest,
    key=st.sampled_from(KEYS),
    value=st.binary(max_size=3),
    partition_key=st.just("p"),
    expected_version_id=st.none() | st.integers(-1, 8),
    session_id=st.none() | st.integers(0, 2),
)
deletes = st.builds(
    api.DeleteRequest, key=st.sampled_from(KEYS), expected_version_id=st.none() | st.integers(-1, 8)
)
writes = st.builds(api.WriteRequest, puts=st.lists(puts, max_size=4), deletes=st.lists(deletes, max_size=3))


def write_entry(request: api.WriteRequest, shard: int = 0) -> LogEntry:
    return LogEntry(shard, 1, write=request.SerializeToString())


def execute(shard: Shard, *puts: api.PutRequest, deletes: Sequence[api.DeleteRequest] = ()) -> Sequence[int]:
    """Execute a write; return the statuses of its puts and deletions."""
    response = shard.execute(write_entry(api.WriteRequest(puts=puts, deletes=deletes)))
    assert response is not None
    return [done.status for done in response.puts] + [done.status for done in response.deletes]


def put(key: str, expected: int | None = None, session: int | None = None) -> api.PutRequest:
    return api.PutRequest(key=key, value=b"v", expected_version_id=expected, session_id=session)


def test_failed_condition_skips_only_its_operation() -> None:
    shard = Shard(0)
    execute(shard, put("b"))
    gone = [api.DeleteRequest(key="none"), api.DeleteRequest(key="b", expected_version_id=7)]
    assert execute(shard, put("a"), put("b", -1), put("c", session=5), put("d"), deletes=gone) == [
        api.OK,
        api.UNEXPECTED_VERSION_ID,
        api.SESSION_DOES_NOT_EXIST,
        api.OK,
        api.KEY_NOT_FOUND,
        api.UNEXPECTED_VERSION_ID,
    ]
    assert [shard.get(key).version.version_id for key in ("b", "a", "d")] == [0, 1, 2]


def test_later_operations_see_earlier_ones() -> None:
    shard = Shard(0)
    assert execute(shard, put("a", -1), put("a", 0), put("a", -1)) == [
        api.OK,
        api.OK,
        api.UNEXPECTED_VERSION_ID,
    ]
    (batch,) = shard.notifications(-1)
    (change,) = batch.notifications
    assert (change.value.type, change.value.version_id) == (api.KEY_MODIFIED, 1)


def test_slashes_sort_after_all_other_characters() -> None:
    keys = ["b", "/a", "/z", "/a/x", "/a0/x", "/a/x/y"]
    assert sorted(keys, key=encoder("hierarchical")) == ["b", "/a", "/z", "/a0/x", "/a/x", "/a/x/y"]
    assert sorted(keys, key=encoder("natural")) == sorted(keys)


def test_end_of_a_session_deletes_its_keys() -> None:
    shard = Shard(0)
    shard.execute(LogEntry(0, 1, session_ttl_ms=1000))
    assert execute(shard, put("mine", session=0), put("kept", session=0), put("kept")) == [api.OK] * 3
    shard.execute(LogEntry(0, 1, ended_sessions=(0,)))
    assert shard.keys("a", "z") == ["kept"]
    deleted = [(change.key, change.value.type) for change in shard.notifications(1)[0].notifications]
    assert deleted == [("mine", api.KEY_DELETED)]
    assert execute(shard, put("mine", session=0)) == [api.SESSION_DOES_NOT_EXIST]


@given(st.lists(writes, max_size=10))
def test_replay_of_the_log_gives_the_same_state(requests: list[api.WriteRequest]) -> None:
    live, replayed = Shard(0), Shard(0)
    for request in requests:
        live.execute(write_entry(request))
        replayed.execute(write_entry(request))
    assert live.records(EARLIEST, LATEST) == replayed.records(EARLIEST, LATEST)
    assert live.notifications(-1) == replayed.notifications(-1)


async def test_log_survives_a_restart_without_its_last_partial_entry(tmp_path: Path) -> None:
    chosen = OxiaServerSettings(shards=2, file=tmp_path / "log")
    first = OxiaServer(chosen)
    await first.start()
    response = first.write(api.WriteRequest(shard=1, puts=[put("a")]))
    created = first.create_session(api.CreateSessionRequest(shard=1, session_timeout_ms=2_000))
    await first.stop()
    with (tmp_path / "log").open("ab") as log:
        log.write(b"\0\0\1")
    again = OxiaServer(chosen)
    await again.start()
    assert again.shard(1).get("a").version == response.puts[0].version
    again.keep_alive(api.SessionHeartbeat(shard=1, session_id=created.session_id))
    await again.stop()
    assert len(list(read_entries(tmp_path / "log"))) == 2


async def test_sequence_put_poisons_the_server() -> None:
    """Oxia accepts it into its log and never starts again; our client refuses to send it."""
    async with serving() as (server, address):
        poison = api.PutRequest(key="a", sequence_key_delta=[1])
        channels = Channels(OxiaAccess(), SystemClock())
        with pytest.raises(Unavailable, match="failed to apply"):
            await channels.call("Write", address, api.WriteRequest(shard=0, puts=[poison]), TIMEOUT_S)
        await channels.close()
        assert server.poisoned


@asynccontextmanager
async def serving() -> AsyncIterator[tuple[OxiaServer, str]]:
    server = OxiaServer()
    await server.start()
    try:
        yield server, server.addresses[0]
    finally:
        await server.stop()


@dataclass
class Raw:
    """Shard 0 of a server, with versions, offsets and sessions relative to those of an empty one."""

    channels: Channels
    address: str
    sessions: list[int]
    version: int
    offset: int

    async def execute(self, request: api.WriteRequest) -> list[tuple[int, int, int]]:
        """Execute a write; return status, version and modification count of its operations."""
        absolute = api.WriteRequest(shard=0)
        absolute.CopyFrom(request)
        absolute.shard = 0
        for write in absolute.puts:
            if write.expected_version_id >= 0 and write.HasField("expected_version_id"):
                write.expected_version_id += self.version
            if write.HasField("session_id"):
                write.session_id = [*self.sessions, 10**9][write.session_id]
        for delete in absolute.deletes:
            if delete.expected_version_id >= 0 and delete.HasField("expected_version_id"):
                delete.expected_version_id += self.version
        response = await self.channels.call("Write", self.address, absolute, TIMEOUT_S)
        found = [(p.status, *self._relative(p.version)) for p in response.puts]
        return found + [(d.status, 0, 0) for d in response.deletes]

    async def end_session(self, number: int) -> None:
        request = api.CloseSessionRequest(shard=0, session_id=self.sessions[number])
        await self.channels.call("CloseSession", self.address, request, TIMEOUT_S)

    async def records(self) -> list[tuple[str, bytes, int, int]]:
        request = api.RangeScanRequest(shard=0, start_inclusive=EARLIEST, end_exclusive=LATEST)
        async with self.channels.stream("RangeScan", self.address, request, TIMEOUT_S) as pages:
            return [
                (found.key, found.value, *self._relative(found.version))
                async for page in pages
                for found in page.records
            ]

    async def changes(self, count: int) -> list[tuple[int, list[tuple[str, int, int]]]]:
        """Return offsets and changes of the first batches."""
        request = api.NotificationsRequest(shard=0, start_offset_exclusive=self.offset)
        found: list[tuple[int, list[tuple[str, int, int]]]] = []
        async with self.channels.stream("GetNotifications", self.address, request, TIMEOUT_S) as batches:
            while len(found) < count:
                batch = await anext(batches)
                changes = [
                    (n.key, n.value.type, max(n.value.version_id - self.version, -1))
                    for n in batch.notifications
                ]
                found.append((batch.offset - self.offset, sorted(changes)))
        return found

    def _relative(self, version: api.Version) -> tuple[int, int]:
        return max(version.version_id - self.version, -1), version.modifications_count


async def raw(channels: Channels, address: str) -> Raw:
    """Empty a server, open two sessions, and take its state as the beginning."""
    everything = api.DeleteRangeRequest(start_inclusive=EARLIEST, end_exclusive=LATEST)
    clean = api.WriteRequest(shard=0, delete_ranges=[everything])
    await channels.call("Write", address, clean, TIMEOUT_S)
    open_one = api.CreateSessionRequest(shard=0, session_timeout_ms=60_000)
    opened = [await channels.call("CreateSession", address, open_one, TIMEOUT_S) for _ in range(2)]
    probe = api.WriteRequest(shard=0, puts=[put("probe")], deletes=[api.DeleteRequest(key="probe")])
    response = await channels.call("Write", address, probe, TIMEOUT_S)
    now = api.NotificationsRequest(shard=0)
    async with channels.stream("GetNotifications", address, now, TIMEOUT_S) as batches:
        offset = (await anext(batches)).offset
    sessions = [created.session_id for created in opened]
    return Raw(channels, address, sessions, response.puts[0].version.version_id + 1, offset)


@pytest.fixture(scope="module")
def real_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with real_oxia.serve(tmp_path_factory.mktemp("oxia")) as address:
        yield address


@pytest.mark.real("oxia")
@given(requests=st.lists(writes, max_size=8))
@settings(max_examples=60, deadline=None)
def test_real_server_answers_the_same(real_address: str, requests: list[api.WriteRequest]) -> None:
    async def main() -> None:
        channels = Channels(OxiaAccess(), SystemClock())
        async with serving() as (_, address):
            ours, real = await raw(channels, address), await raw(channels, real_address)
            for request in requests:
                assert await ours.execute(request) == await real.execute(request)
                assert await ours.records() == await real.records()
            for number in range(2):
                await ours.end_session(number)
                await real.end_session(number)
            assert await ours.records() == await real.records()
            assert await ours.changes(len(requests) + 2) == await real.changes(len(requests) + 2)
            await channels.close()

    asyncio.run(main())


async def test_request_continues_when_its_caller_is_cancelled() -> None:
    async with serving() as (server, address):
        server.faults = faults = ScriptedFaults("Write", [slow(0.1)])
        channels = Channels(OxiaAccess(), SystemClock())
        write = api.WriteRequest(shard=0, puts=[put("a")])
        calling = asyncio.ensure_future(channels.call("Write", address, write, TIMEOUT_S))
        await faults.finished.wait()
        calling.cancel()
        await server.late_requests()
        assert server.shard(0).get("a").status == api.OK
        await channels.close()


async def test_only_the_leader_serves_a_shard() -> None:
    server = OxiaServer(OxiaServerSettings(shards=2, ports=(0, 0)))
    await server.start()
    channels = Channels(OxiaAccess(), SystemClock())
    first, second = server.addresses
    write = api.WriteRequest(shard=1, puts=[put("a")])
    with pytest.raises(Unavailable, match="not leader"):
        await channels.call("Write", first, write, TIMEOUT_S)
    await channels.call("Write", second, write, TIMEOUT_S)
    server.move_leader(1, 0)
    await channels.call("Write", first, write, TIMEOUT_S)
    with pytest.raises(Unavailable, match="not leader"):
        await channels.call("Write", second, write, TIMEOUT_S)
    await channels.close()
    await server.stop()
