"""Slow disks of etcd members."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.chaos.cluster.isolation import isolated
from tests.oracle.environment import ROOT

_SYNCS = 4
_PROGRAM = f"""
import subprocess, sys, time
from pathlib import Path
from tests.chaos.cluster.disk import Disk
from tests.meta.etcd_cluster import Member

SYNC = "import os, sys; f = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)\\n"
SYNC += "for _ in range({_SYNCS}): os.write(f, b'x' * 2000); os.fdatasync(f)"

disk = Disk("etcd1", Path(sys.argv[1]))

def seconds():
    began = time.monotonic()
    subprocess.run([*disk.launcher, sys.executable, "-c", SYNC, disk.directory / "file"], check=True)
    return time.monotonic() - began

normal = [seconds(), seconds()]
end = disk.slow(Member("etcd1", 0, 0, disk.directory), 2) if disk.launcher else (lambda: None)
slow = seconds()
end()
normal.append(seconds())
disk.remove()
print(bool(disk.launcher), slow - max(normal), any(disk.directory.iterdir()))
"""


@pytest.mark.real("namespaces")
def test_limited_writes_delay_every_sync_until_the_limit_is_removed(tmp_path: Path) -> None:
    """The file system, with its file, disappears in the end."""
    command = isolated([sys.executable, "-c", _PROGRAM, str(tmp_path)])
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)
    assert ran.returncode == 0, ran.stderr
    limited, slower_by, left = ran.stdout.split()
    if limited == "False":
        pytest.skip("this kernel cannot limit writes; members are paused in bursts instead")
    assert float(slower_by) > (_SYNCS - 1) / 2
    assert left == "False"
