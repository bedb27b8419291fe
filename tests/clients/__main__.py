"""Fetches and builds all that the client tests need, so that none has to wait: `python -m tests.clients`.

What the machine has no toolchain for is left out, and named with the command that installs it.
"""

import sys
import time

from tests.clients.registry import CLIENTS
from tests.parts import PARTS


def main() -> None:
    for client in CLIENTS.values():
        part = PARTS[client.part] if client.part else None
        if part and part.find() is None:
            report(f"{client.name}: {part.what} is missing. To have it: {part.install}")
        else:
            started = time.monotonic()
            client.command("127.0.0.1:9092")
            report(f"{client.name}: ready after {time.monotonic() - started:.1f} s")


def report(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
