"""Debian packages that tests need, installed by root or with passwordless sudo, as in `scripts/bootstrap`."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from typing import Final

_INSTALL_S: Final = 300


def install(packages: Sequence[str]) -> bool:
    """Install packages, and return whether that was possible."""
    if shutil.which("apt-get") is None:
        return False
    as_root = [] if os.getuid() == 0 else ["sudo", "-n"]
    if as_root and not _succeeds(["sudo", "-n", "true"]):
        return False
    quiet = [*as_root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q"]
    return _succeeds([*quiet, "update"]) and _succeeds(
        [*quiet, "install", "-y", "--no-install-recommends", *packages]
    )


def _succeeds(command: Sequence[str]) -> bool:
    try:
        ran = subprocess.run(command, capture_output=True, timeout=_INSTALL_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return ran.returncode == 0
