"""Agreement of readers at full size: a million records through four readers, on one machine and distributed,
and a backfill of ten million rows. The tests run the same with a few thousand records.
"""

import argparse
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from tests.agreement.ways import WAYS


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m tests.agreement", description=__doc__)
    options.add_argument("--records", type=int, help="how many, in place of the full count")
    options.add_argument("ways", nargs="*", choices=[*WAYS, []], help="which; all if none is given")
    chosen = options.parse_args()
    for way in chosen.ways or WAYS:
        began = time.monotonic()
        agree, records = WAYS[way]
        with tempfile.TemporaryDirectory(prefix="dray-agreement-") as folder:
            agree(Path(folder), chosen.records or records, partial(_say, way))
        _say(way, f"done in {time.monotonic() - began:.0f} s")


def _say(way: str, text: str) -> None:
    sys.stdout.write(f"{way}: {text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
