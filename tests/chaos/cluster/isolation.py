"""Isolation of an experiment: namespaces of its own for network, mounts and processes.

The first process of the experiment is the first of its process namespace. When it ends, however it ends, the
kernel kills all others, and the network and the mounts disappear with them: no experiment can leave anything
behind, and several can run beside each other with the same names and addresses.
"""

import os
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

_MARK: Final = "CHAOS_ISOLATED"
_PROGRAMS: Final = ("ip", "unshare", "setpriv", "cc")
PACKAGES: Final = ("iproute2", "util-linux", "gcc", "libc6-dev")
"""The packages of Debian that have them."""


def is_isolated() -> bool:
    return _MARK in os.environ


def isolated(command: Sequence[str]) -> list[str]:
    """Return the command that runs another one in namespaces of its own, until its parent process ends."""
    user = [] if os.getuid() == 0 else ["--user", "--map-root-user"]
    return [
        *("setpriv", "--pdeathsig", "KILL"),
        *("unshare", *user, "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"),
        *("env", f"{_MARK}=1"),
        *command,
    ]


@cache
def program() -> Path | None:
    """Return `ip` if this machine has all programs, and may make namespaces and networks in them."""
    if any(shutil.which(name) is None for name in _PROGRAMS):
        return None
    trial = "mount -t tmpfs none /run && mkdir /run/netns && ip link add br0 type bridge && ip netns add n"
    made = subprocess.run(isolated(["sh", "-c", trial]), capture_output=True, timeout=60, check=False)
    found = shutil.which("ip")
    return Path(found) if found and made.returncode == 0 else None
