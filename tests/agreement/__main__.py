"""The full count: `python -m tests.agreement [--records N] [embedded|cluster]`; tests run a shorter one."""

import argparse
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from tests.agreement import cluster, embedded

_WAYS = {"embedded": embedded.agree, "cluster": cluster.agree}


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m tests.agreement", description=__doc__)
    options.add_argument("--records", type=int, default=1_000_000)
    options.add_argument("ways", nargs="*", choices=[*_WAYS, []], help="which set-ups; all if none is given")
    chosen = options.parse_args()
    for way in chosen.ways or _WAYS:
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="dray-agreement-") as folder:
            _WAYS[way](Path(folder), chosen.records, partial(_say, way))
        _say(way, f"done in {time.monotonic() - began:.0f} s")


def _say(way: str, text: str) -> None:
    sys.stdout.write(f"{way}: {text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
