"""CPU time and memory of a process tree, and the load of the rest of the machine, from /proc (Linux only).

CPU time is what the process was charged with. Pages that the kernel writes back later are charged to no
process, so a server that leaves syncing to the kernel looks slightly cheaper than it is.
"""

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")
_TICKS = os.sysconf("SC_CLK_TCK")
_UTIME_AT = 11
"""Counted from after the name, which may itself contain blanks and brackets."""
_ENDED = FileNotFoundError, ProcessLookupError
"""The first if the process ended before its file was opened, the second if before it was read."""


def cpu_seconds(pid: int) -> float:
    """Return user and system time so far, including children, running or ended.

    A child that ends during the reading would be missing from its own figures and its parent's, so the
    reading is repeated then.
    """
    members: list[int] = []
    ticks = 0
    while (found := list(_family(pid))) != members:
        members = found
        ticks = sum(_ticks(member) for member in members)
    return ticks / _TICKS


def rss_bytes(pid: int) -> int:
    """Return the resident memory, including running children."""
    return sum(_rss(member) for member in _family(pid))


def file_system(directory: Path) -> str:
    """Return the type of the directory's file system, by the longest matching mount point."""
    found = ("", "unknown")
    for line in (_PROC / "mounts").read_text().splitlines():
        _, mounted, kind, *_ = line.split()
        if directory.resolve().is_relative_to(mounted) and len(mounted) >= len(found[0]):
            found = (mounted, kind)
    return found[1]


class BackgroundLoad:
    """Load of other processes since this object was created: how far the figures can be trusted."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._busy = _machine_seconds() - _own_seconds()

    def cores(self) -> float:
        """Return the cores used by all but this process and its children.

        Ended children count only if their parent has waited for them. A JVM does not, so call this while
        Spark is still running.
        """
        busy = _machine_seconds() - _own_seconds() - self._busy
        return max(0.0, busy / (time.monotonic() - self._began))


def _machine_seconds() -> float:
    """Return busy time: all but idle, I/O wait and guest time, which user time includes."""
    fields = [int(field) for field in (_PROC / "stat").read_text().partition("\n")[0].split()[1:]]
    user, nice, system, _, _, irq, softirq, steal, *_ = fields
    return (user + nice + system + irq + softirq + steal) / _TICKS


def _own_seconds() -> float:
    return cpu_seconds(os.getpid())


def _family(pid: int) -> Iterator[int]:
    yield pid
    with suppress(*_ENDED):
        for task in (_PROC / str(pid) / "task").iterdir():
            for child in _read(task / "children").split():
                yield from _family(int(child))


def _ticks(pid: int) -> int:
    fields = _read(_PROC / str(pid) / "stat").rpartition(")")[2].split()
    return sum(int(field) for field in fields[_UTIME_AT : _UTIME_AT + 4])


def _rss(pid: int) -> int:
    for line in _read(_PROC / str(pid) / "status").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


def _read(path: Path) -> str:
    """Return a file of a process or thread, empty if it has just ended."""
    with suppress(*_ENDED):
        return path.read_text()
    return ""
