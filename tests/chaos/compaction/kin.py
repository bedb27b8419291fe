"""Who is below whom, and how they are, read from the kernel; one that has just ended is nobody."""

from contextlib import suppress
from pathlib import Path


def below(pid: int) -> set[int]:
    """Return all that a process has started, and those that these have."""
    found: set[int] = set()
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            for child in map(int, path.read_text().split()):
                found |= {child} | below(child)
    return found


def command(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return ""


def parent(pid: int) -> int:
    return int(_stat(pid)[1])


def is_halted(pid: int) -> bool:
    return _stat(pid)[0] == "T"


def running(part: str) -> list[int]:
    """Return the processes in whose command these words are."""
    numbers = (int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal())
    return [pid for pid in numbers if part in command(pid)]


def _stat(pid: int) -> list[str]:
    """Return the fields behind the name: state, parent and so on."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return ["X", "0"]
