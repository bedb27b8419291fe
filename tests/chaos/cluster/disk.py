"""Disk of an etcd member that can be made slow.

The member gets a file system of its own on a loop device, and a control group whose writes to that device
are limited; so nothing else on the machine becomes slow. Where that is impossible (control groups of version
2 only, or no root), the member is paused in bursts instead: it then neither writes nor answers, where with a
slow disk it would answer. `how` says which it was.
"""

import os
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.meta.etcd_cluster import Member

_GROUPS: Final = Path("/sys/fs/cgroup/blkio")
_LIMIT: Final = "blkio.throttle.write_iops_device"
_BYTES: Final = 512 << 20
_ENTER: Final = 'echo $$ >"$0" && exec "$@"'
_RUNNING_S: Final = 0.05


class Disk:
    """A file system with the files of one member; without one, `directory` is an ordinary directory."""

    def __init__(self, name: str, directory: Path) -> None:
        self.directory = directory / f"{name}-disk"
        self.directory.mkdir()
        self._group: Path | None = None
        self._device = ""
        image = directory / f"{name}.img"
        self._is_mounted = os.access(_GROUPS, os.W_OK) and _mounted(image, self.directory)
        if self._is_mounted:
            number = self.directory.stat().st_dev
            self._device = f"{os.major(number)}:{os.minor(number)}"
            group = _GROUPS / f"dray-chaos-loop{os.minor(number)}"
            group.mkdir(exist_ok=True)  # an earlier run that was killed has left it
            if (group / _LIMIT).exists():
                self._group = group
                self._limit(0)

    @property
    def how(self) -> str:
        return "writes per second are limited" if self._group else "the process is paused in bursts"

    @property
    def launcher(self) -> list[str]:
        """The beginning of a command whose process uses the disk."""
        return ["sh", "-c", _ENTER, str(self._group / "cgroup.procs")] if self._group else []

    def slow(self, member: Member, writes_per_s: float) -> Callable[[], None]:
        """Slow it down until the result is called."""
        if self._group:
            self._limit(max(1, int(writes_per_s)))
            return lambda: self._limit(0)
        bursts = _Bursts(member, 1 / writes_per_s)
        bursts.start()
        return bursts.stop

    def remove(self) -> None:
        """Remove file system and control group, which no process uses any more."""
        if self._is_mounted:
            subprocess.run(["umount", str(self.directory)], check=True, timeout=60)
        if self._group:
            self._group.rmdir()

    def _limit(self, writes_per_s: int) -> None:
        assert self._group is not None
        (self._group / _LIMIT).write_text(f"{self._device} {writes_per_s}")  # 0 removes the limit


class _Bursts(threading.Thread):
    def __init__(self, member: Member, paused_s: float) -> None:
        super().__init__(name="slow disk", daemon=True)
        self._member = member
        self._paused_s = paused_s
        self._stopping = threading.Event()

    def run(self) -> None:
        while not self._stopping.wait(_RUNNING_S):
            self._member.pause()
            self._stopping.wait(self._paused_s)
            self._member.resume()

    def stop(self) -> None:
        self._stopping.set()
        self.join()


def _mounted(image: Path, directory: Path) -> bool:
    """Whether a new file system in a file could be mounted."""
    with image.open("wb") as file:
        file.truncate(_BYTES)
    commands = (["mkfs.ext4", "-q", str(image)], ["mount", "-o", "loop", str(image), str(directory)])
    return all(_succeeds(command) for command in commands)


def _succeeds(command: list[str]) -> bool:
    try:
        return not subprocess.run(command, capture_output=True, timeout=60, check=False).returncode
    except FileNotFoundError:
        return False
