"""Process tree as the kernel shows it: descendants, commands and states; a process that ended has none."""

from contextlib import suppress
from pathlib import Path


def descendants(pid: int) -> set[int]:
    """Return a process's children, their children, and so on."""
    found: set[int] = set()
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            for child in map(int, path.read_text().split()):
                found |= {child} | descendants(child)
    return found


def command(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return ""


def parent(pid: int) -> int:
    return int(_stat(pid)[1])


def is_stopped(pid: int) -> bool:
    return _stat(pid)[0] == "T"


def pids_running(text: str) -> list[int]:
    """Return the pids of all processes whose command line contains a text."""
    pids = (int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal())
    return [pid for pid in pids if text in command(pid)]


def _stat(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat after the command name: state, parent and so on."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return ["X", "0"]
