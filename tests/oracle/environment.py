"""Where the tree is, and what a process of the tests should not inherit."""

import os
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]


def unmeasured() -> dict[str, str]:
    """An environment in which a Python does not measure coverage: for processes that run nothing of Dray."""
    return {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
