"""A real Oxia server: the one at `DRAY_TEST_OXIA=host:port`, or one that is started from the program `oxia`.

Its namespace `default` is emptied before every test.
"""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from dray.meta.oxia import api_pb2 as api
from dray.meta.oxia.access import OxiaAccess
from dray.meta.oxia.channels import Channels
from dray.runtime import SystemClock
from dray.testing.ports import free_port

VARIABLE: Final = "DRAY_TEST_OXIA"
_SHARDS: Final = 4
_READY_S: Final = 30.0
_TIMEOUT_S: Final = 10.0


@contextmanager
def serve(directory: Path) -> Iterator[str]:
    """Yield the address of a server."""
    named = os.environ.get(VARIABLE)
    if named:
        yield named
        return
    program = shutil.which("oxia")
    assert program is not None
    port = free_port()
    with (directory / "server.log").open("ab") as log:
        process = subprocess.Popen(
            command(program, directory, port), stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
    try:
        wait_until_open(f"127.0.0.1:{port}")
        yield f"127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def command(program: str, directory: Path, port: int) -> list[str]:
    """Return the command that starts a server with its data in `directory`."""
    listeners = ["-p", f"127.0.0.1:{port}", "-m", f"127.0.0.1:{free_port()}"]
    data = ["--data-dir", str(directory / "db"), "--wal-dir", str(directory / "wal")]
    return [program, "standalone", *listeners, *data, "--shards", str(_SHARDS)]


def wait_until_open(address: str) -> None:
    host, _, port = address.rpartition(":")
    deadline = time.monotonic() + _READY_S
    while True:
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return


async def empty(address: str) -> None:
    """Delete all keys of the namespace; range deletions are refused by our client, not by the server."""
    channels = Channels(OxiaAccess(), SystemClock())
    request = api.ShardAssignmentsRequest(namespace="default")
    async with channels.stream("GetShardAssignments", address, request, _TIMEOUT_S) as assignments:
        message = await anext(assignments)
    for shard in message.namespaces["default"].assignments:
        everything = api.DeleteRangeRequest(start_inclusive="a", end_exclusive="z")
        write = api.WriteRequest(shard=shard.shard, delete_ranges=[everything])
        await channels.call("Write", shard.leader, write, _TIMEOUT_S)
    await channels.close()
