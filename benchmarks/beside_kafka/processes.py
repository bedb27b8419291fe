"""What the kernel tells: processor time and memory of a process and its children, and what else was going on.

Linux only, as it reads /proc. Processor time is what the process was charged with. Pages that the kernel
writes back later are charged to nobody, so a server that leaves syncing to the kernel looks a little cheaper
than it is.
"""

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")
_TICKS = os.sysconf("SC_CLK_TCK")
_UTIME_AT = 11
"""Counted from behind the name, which may itself hold blanks and brackets."""
_ENDED = FileNotFoundError, ProcessLookupError
"""The first if it was gone before its file was opened, the second if before it was read."""


def cpu_seconds(pid: int) -> float:
    """User and system time so far, with that of children, running or ended.

    A child that ends in mid-reading would be missed, in its own figures and in its parent's: read again then.
    """
    members: list[int] = []
    ticks = 0
    while (found := list(_family(pid))) != members:
        members = found
        ticks = sum(_ticks(member) for member in members)
    return ticks / _TICKS


def rss_bytes(pid: int) -> int:
    """Memory held now, with that of running children."""
    return sum(_rss(member) for member in _family(pid))


def file_system(directory: Path) -> str:
    """The type of the file system, by the longest mount point that the directory lies under."""
    found = ("", "unknown")
    for line in (_PROC / "mounts").read_text().splitlines():
        _, mounted, kind, *_ = line.split()
        if directory.resolve().is_relative_to(mounted) and len(mounted) >= len(found[0]):
            found = (mounted, kind)
    return found[1]


class Bystanders:
    """What else the machine did since this was made: a measure of how far its figures can be trusted."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._busy = _machine_seconds() - _own_seconds()

    def cores(self) -> float:
        """Cores used by all but this process and its children.

        Of those that have ended, only they count that somebody has waited for. A JVM waits for nobody, so
        look while Spark still runs.
        """
        busy = _machine_seconds() - _own_seconds() - self._busy
        return max(0.0, busy / (time.monotonic() - self._began))


def _machine_seconds() -> float:
    """All but idle, waiting for the disk, and what is counted twice (guests are users too)."""
    fields = [int(field) for field in (_PROC / "stat").read_text().partition("\n")[0].split()[1:]]
    user, nice, system, _, _, irq, softirq, steal, *_ = fields
    return (user + nice + system + irq + softirq + steal) / _TICKS


def _own_seconds() -> float:
    return cpu_seconds(os.getpid())


def _family(pid: int) -> Iterator[int]:
    yield pid
    with suppress(*_ENDED):
        for task in (_PROC / str(pid) / "task").iterdir():
            for child in _told(task / "children").split():
                yield from _family(int(child))


def _ticks(pid: int) -> int:
    fields = _told(_PROC / str(pid) / "stat").rpartition(")")[2].split()
    return sum(int(field) for field in fields[_UTIME_AT : _UTIME_AT + 4])


def _rss(pid: int) -> int:
    for line in _told(_PROC / str(pid) / "status").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


def _told(path: Path) -> str:
    """Return what the kernel tells of a process or thread: nothing if it has just ended."""
    with suppress(*_ENDED):
        return path.read_text()
    return ""
