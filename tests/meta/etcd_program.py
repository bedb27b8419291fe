"""The etcd server that tests run: built once, with the versions that `etcd_server/go.mod` and `go.sum` lock.

etcd publishes no package that can be installed as it is, so a module of our own names it as a tool.
"""

import subprocess
from pathlib import Path
from typing import Final

from tests.oracle.cache import made

_MODULE: Final = Path(__file__).parent / "etcd_server"
_PACKAGE: Final = "go.etcd.io/etcd/server/v3"
_BUILD_S: Final = 900


class BuildError(RuntimeError):
    """etcd could not be built; the message ends with the build output."""


def etcd_program() -> Path:
    """Return the server, which is built unless it is up to date."""
    return made("etcd-program", [_MODULE / "go.mod", _MODULE / "go.sum"], _build) / "etcd"


def _build(folder: Path) -> None:
    command = ["go", "build", "-buildvcs=false", "-o", str(folder / "etcd"), _PACKAGE]
    ran = subprocess.run(command, cwd=_MODULE, capture_output=True, text=True, timeout=_BUILD_S, check=False)
    if ran.returncode:
        wrote = (ran.stdout + ran.stderr)[-3000:]
        raise BuildError(f"`{' '.join(command)}` failed with {ran.returncode}:\n{wrote}")
