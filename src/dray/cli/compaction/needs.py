"""What compaction needs of the machine, looked for before anything is loaded."""

import os
from importlib.util import find_spec
from typing import Final

from dray.cli.failure import WrongUse
from dray.pipeline.spark.java import JavaMissing, find_java
from dray.pipeline.spark.settings import usual_cache

_MODULES: Final = ("numba", "numpy", "pandas", "pyarrow", "pyiceberg", "pyspark")


def check_needs() -> None:
    """Raise `WrongUse` that says what is missing and how to get it. Blocks while it asks Java's version."""
    missing = [name for name in _MODULES if find_spec(name) is None]
    if missing:
        raise WrongUse(f"compaction needs {', '.join(missing)}: pip install 'dray[spark]'")
    try:
        find_java(usual_cache(os.environ), os.environ)
    except JavaMissing as error:
        raise WrongUse(str(error)) from error
