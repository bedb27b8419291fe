"""Toolchain detection for Java, Go and Node, for `tests.parts`.

A compiler that is too old counts as missing: otherwise the tests would fail on a machine that cannot run
them. Results are cached, since every test of a part needs them.
"""

import re
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path


@cache
def version_of(program: str, *arguments: str) -> tuple[int, ...]:
    """Return the first dotted number that the program prints, or an empty tuple if it cannot be run."""
    try:
        ran = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    found = re.search(r"\d+(\.\d+)*", ran.stdout + ran.stderr)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def toolchain(
    name: str, *asked: str, least: tuple[int, ...], beside: tuple[str, ...] = ()
) -> Callable[[], Path | None]:
    """Return a finder for `name` in version `least` or later that also requires the programs `beside`."""

    def find() -> Path | None:
        found = shutil.which(name)
        if found is None or any(shutil.which(other) is None for other in beside):
            return None
        return Path(found) if version_of(found, *asked) >= least else None

    return find
