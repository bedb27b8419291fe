"""Compaction by `dray compactor --once`, as a user runs it."""

import subprocess
import sys
from collections.abc import Sequence

from tests.oracle.environment import ROOT


def compacting(options: Sequence[str]) -> "subprocess.Popen[str]":
    """Start compacting everything that has been produced."""
    return subprocess.Popen(
        [sys.executable, "-m", "dray", "compactor", "--once", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=ROOT,
    )
