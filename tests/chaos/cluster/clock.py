"""Wall clock of a process that can be moved while it runs, through a small library that it loads first.

libfaketime would do the same, but version 0.9.10 (Debian 12) breaks `time.sleep` of Python 3.11 when it must
not touch the monotonic clock.
"""

import struct
import subprocess
from pathlib import Path
from typing import Final

from tests.oracle.cache import made

_SOURCE: Final = Path(__file__).with_name("clock.c")
_NANOSECONDS: Final = struct.Struct("=q")


class MovableClock:
    """The clock of one process, at first the true one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.write_bytes(_NANOSECONDS.pack(0))

    @property
    def environment(self) -> dict[str, str]:
        """The variables to start the process with."""
        return {"LD_PRELOAD": str(library()), "CHAOS_CLOCK": str(self._path)}

    def move(self, seconds: float) -> None:
        """Have the process read a time that is so far from the true one, at once."""
        with self._path.open("r+b") as file:  # in place: the process has it mapped
            file.write(_NANOSECONDS.pack(int(seconds * 1e9)))


def library() -> Path:
    """Return the library, which is built unless it is up to date."""

    def build(folder: Path) -> None:
        library = str(folder / "clock.so")
        command = ["cc", "-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-o", library, str(_SOURCE)]
        subprocess.run(command, check=True, timeout=60)

    return made("chaos-clock", [_SOURCE], build) / "clock.so"
