"""Importing a module that is seldom needed, or not on every machine, only when it is used.

Whoever uses it imports the module under `TYPE_CHECKING`, so that readers, types and the layering check see
what it stands for.
"""

from importlib import import_module
from typing import Any


class LazyModule:
    """Stands for a module, which is imported when something in it is first asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:  # noqa: ANN401 - whatever the module has there
        return getattr(import_module(self._name), attribute)
