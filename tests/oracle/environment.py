"""Environment of test processes: the repository root, and variables that must not be inherited."""

import os
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]


def unmeasured() -> dict[str, str]:
    """Return an environment without coverage measurement, for processes that run no code of Dray."""
    return {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
