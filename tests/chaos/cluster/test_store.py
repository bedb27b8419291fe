"""Throttling proxy of the object store, before a real SeaweedFS."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import obstore
import pytest
from obstore.exceptions import BaseError
from obstore.store import S3Store

from dray.testing import seaweedfs
from tests.chaos.cluster.store import Orders, ThrottlingProxy, give

pytestmark = pytest.mark.real("seaweedfs")

_LARGE = b"0123456789abcdef" * 65_536


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[S3Store]:
    """A bucket of a real server, reached through the proxy."""
    give(tmp_path, Orders())
    files = tmp_path / "files"
    files.mkdir()
    with seaweedfs.serve(files) as server:
        server.make_bucket("dray")
        proxy = ThrottlingProxy(tmp_path, server.endpoint.removeprefix("http://"), seed=1)
        connections: set[asyncio.Task[Any] | None] = set()

        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connections.add(asyncio.current_task())
            try:
                await proxy.accept(reader, writer)
            finally:
                with suppress(ConnectionError):
                    await writer.wait_closed()

        async with await asyncio.start_server(accept, "127.0.0.1", 0) as listening:
            port = listening.sockets[0].getsockname()[1]
            yield S3Store(
                "dray",
                endpoint=f"http://127.0.0.1:{port}",
                region="us-east-1",
                access_key_id="writer",
                secret_access_key=seaweedfs.SECRET,
                client_options={"allow_http": True, "timeout": timedelta(seconds=60)},
                retry_config={"max_retries": 0, "retry_timeout": timedelta(0)},
            )
        for task in filter(None, connections):  # the client keeps them open; none may outlive the loop
            task.cancel()
        await asyncio.gather(*filter(None, connections), return_exceptions=True)


async def test_requests_pass_unless_they_are_rejected(store: S3Store, tmp_path: Path) -> None:
    await obstore.put_async(store, "large", _LARGE, use_multipart=False)
    give(tmp_path, Orders(rejected=1.0))
    with pytest.raises(BaseError, match="503"):
        await obstore.put_async(store, "rejected", _LARGE, use_multipart=False)
    with pytest.raises(BaseError, match="SlowDown"):
        await obstore.get_async(store, "large")
    give(tmp_path, Orders(closed=True))
    with pytest.raises(BaseError, match="error sending request"):
        await obstore.get_async(store, "large")
    give(tmp_path, Orders(delay_s=0.01))
    read = await (await obstore.get_async(store, "large")).bytes_async()
    assert bytes(read) == _LARGE
    with pytest.raises(FileNotFoundError):
        await obstore.head_async(store, "rejected")


async def test_a_part_of_the_requests_is_rejected(store: S3Store, tmp_path: Path) -> None:
    await obstore.put_async(store, "small", b"x")
    give(tmp_path, Orders(rejected=0.5))
    rejected = 0
    for _ in range(40):
        try:
            await obstore.head_async(store, "small")
        except BaseError:
            rejected += 1
    assert 5 < rejected < 35
