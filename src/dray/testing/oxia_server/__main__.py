"""The server as a program: `python -m dray.testing.oxia_server --port 6648 --file log`.

SIGUSR1 moves the leader of each shard to the next node.
"""

import argparse
import asyncio
import signal
from pathlib import Path

from dray.testing.oxia_server.server import OxiaServer, OxiaServerSettings


async def serve(settings: OxiaServerSettings) -> None:
    server = OxiaServer(settings)
    await server.start()
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, server.move_leaders)
    print(*server.addresses, flush=True)
    await asyncio.get_running_loop().create_future()


def main() -> None:
    parser = argparse.ArgumentParser(description="A server of Oxia's client protocol, for tests.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, action="append", help="of a node; several nodes are possible")
    parser.add_argument("--shards", type=int, default=1)
    parser.add_argument("--namespace", default="default")
    parser.add_argument("--file", type=Path, help="where the log is kept (in memory)")
    parser.add_argument("--sorting", choices=["hierarchical", "natural"], default="hierarchical")
    parser.add_argument("--session-ttl-min-ms", type=int, default=2_000)
    arguments = parser.parse_args()
    settings = OxiaServerSettings(
        namespace=arguments.namespace,
        shards=arguments.shards,
        ports=tuple(arguments.port or [0]),
        host=arguments.host,
        file=arguments.file,
        sorting=arguments.sorting,
        session_ttl_min_ms=arguments.session_ttl_min_ms,
    )
    try:
        asyncio.run(serve(settings))
    except KeyboardInterrupt:
        return


if __name__ == "__main__":
    main()
