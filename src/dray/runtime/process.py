"""The process itself: interpreter settings, imports on first use, and durable directories."""

import gc
import os
import sys
from importlib import import_module
from typing import Any

_SWITCH_S = 0.0005
_COLLECT_AFTER = (20_000, 20, 20)


def tune_interpreter() -> None:
    """Set up Python for serving; called once, when everything is imported.

    A busy event loop otherwise keeps the interpreter lock for 5 ms at a time, and every thread that returns
    from the disk with little to do (a commit to report, a file to link) waits that long for it.

    The garbage collector otherwise traverses all modules and classes again and again, because every batch on
    its way is a handful of new objects. Almost nothing here is in cycles, so collecting rarely is enough.
    """
    sys.setswitchinterval(_SWITCH_S)
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECT_AFTER)


class LazyModule:
    """A stand-in for a module that is imported on first use: it is rarely needed, or not always installed.

    The user imports the module under `TYPE_CHECKING` as well, so that readers, types and the layering check
    see what the name stands for.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:  # noqa: ANN401 - whatever the module has there
        return getattr(import_module(self._name), attribute)


def sync_directory(directory: str | os.PathLike[str]) -> None:
    """Make the names in a directory durable: without this, a new file may be missing after a power cut."""
    opened = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
