"""Oxia servers that are killed and paused: what was acknowledged survives, and happens once."""

import asyncio
import os
import shutil
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from dray.meta.port import Put, Versions
from dray.testing.contracts.meta_harness import D, put, value_of
from dray.testing.ports import free_port
from tests.meta import real_oxia
from tests.meta.bank import verify
from tests.meta.oxia_harness import RealOxiaHarness
from tests.meta.test_oxia_history import run_bank

MODULE = "dray.testing.oxia_server"


class Program:
    """Our server as a program, at the same port and with the same file after every start."""

    def __init__(self, directory: Path) -> None:
        self._port = free_port()
        self._file = directory / "log"
        self._process: Process | None = None
        self.address = f"127.0.0.1:{self._port}"

    async def start(self) -> None:
        options = ["--port", str(self._port), "--file", str(self._file), "--shards", "2"]
        command = [sys.executable, "-m", MODULE, *options, "--session-ttl-min-ms", "400"]
        self._process = await asyncio.create_subprocess_exec(*command, stdout=PIPE)
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        assert line.decode().split() == [self.address]

    async def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        await self._process.wait()

    def signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)


class RealProgram(Program):
    """The same with a real server."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._directory = directory

    async def start(self) -> None:
        program = shutil.which("oxia")
        if program is None or real_oxia.VARIABLE in os.environ:
            pytest.skip("a server that was started elsewhere cannot be killed")
        command = real_oxia.command(program, self._directory, self._port)
        log = (self._directory / "server.log").open("ab")
        self._process = await asyncio.create_subprocess_exec(*command, stdout=log, stderr=log)
        log.close()
        await asyncio.to_thread(real_oxia.wait_until_open, self.address)


@pytest.fixture(params=[Program, pytest.param(RealProgram, marks=pytest.mark.real("oxia"))])
async def program(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Program]:
    program: Program = request.param(tmp_path)
    await program.start()
    yield program
    await program.kill()


@asynccontextmanager
async def clients(program: Program, **settings: object) -> AsyncIterator[RealOxiaHarness]:
    harness = RealOxiaHarness(program.address, session_ttl_min_ms=2_000, **settings)
    try:
        yield harness
    finally:
        await harness.close()


@pytest.mark.slow
async def test_kills_of_the_server_lose_no_commit_and_repeat_none(program: Program) -> None:
    async with clients(program) as harness:
        stores = [await harness.open() for _ in range(3)]
        done = asyncio.Event()

        async def kill_repeatedly() -> None:
            while not done.is_set():
                await asyncio.sleep(0.4)
                await program.kill()
                await program.start()

        async with asyncio.TaskGroup() as group:
            group.create_task(kill_repeatedly())
            histories = await run_bank(stores, times=25)
            done.set()
        for domain, history in histories.items():
            await verify(stores[0], domain, history)


async def test_commit_is_resolved_after_a_restart(program: Program) -> None:
    async with clients(program) as harness:
        store = await harness.open()
        version = await put(store, "/a", b"1")
        await program.kill()
        commit = asyncio.ensure_future(put(store, "/b", b"2"))
        await asyncio.sleep(0)
        await program.start()
        assert await commit
        entry = await store.get(D, "/a")
        assert entry is not None
        assert entry.version == version
        assert await value_of(store, "/b") == b"2"


async def test_commits_to_a_paused_server_happen_once(program: Program) -> None:
    """Their requests time out, are looked up when the server continues, and some of them arrive late."""
    async with clients(program, request_ms=200.0) as harness:
        store = await harness.open()
        await put(store, "/warm")
        program.signal(signal.SIGSTOP)
        commits = [asyncio.ensure_future(store.commit(D, [], [Put(f"/{n}", b"")])) for n in range(20)]
        await asyncio.wait(commits, timeout=0.5)
        program.signal(signal.SIGCONT)
        outcomes = await asyncio.gather(*commits)
        versions = {outcome.of for outcome in outcomes if isinstance(outcome, Versions)}
        assert len(versions) == 20
        found = await store.scan(D, "/", "/~")
        assert {(entry.version,) for entry in found if entry.key != "/warm"} == versions
