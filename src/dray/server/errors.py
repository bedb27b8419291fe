"""Errors of a process that cannot start or continue, sorted by what the operator must do.

    StartupError            exit code 1: look at the stores, the cluster or the machine
    └─ ConfigurationError   exit code 2: fix the settings, or install what is missing

Every line of a message is printed as it is; a traceback is printed only with `DRAY_DEBUG=1`.
"""

import os
from collections.abc import Iterable
from importlib.util import find_spec
from typing import ClassVar, Final

EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2


class StartupError(Exception):
    """The process cannot start or continue."""

    exit_code: ClassVar[int] = EXIT_FAILED


class ConfigurationError(StartupError):
    """The settings are invalid together, or a required package or program is not installed."""

    exit_code: ClassVar[int] = EXIT_USAGE


def require(modules: Iterable[str], extra: str) -> None:
    """Raise `ConfigurationError` if a module is not installed; `extra` is the extra of Dray that has them."""
    missing = [name for name in modules if find_spec(name) is None]
    if missing:
        raise ConfigurationError(f"missing packages: {', '.join(missing)}; install dray[{extra}]")


def format_unexpected(kind: type[BaseException], error: BaseException) -> str:
    """Return one line for an error that no command expected."""
    first = next(iter(str(error).splitlines()), "")
    text = f"{kind.__name__}: {first}" if first else kind.__name__
    return f"{text} (set DRAY_DEBUG=1 for the traceback)"


def debugging() -> bool:
    """Return whether failures are printed with their tracebacks."""
    return os.environ.get("DRAY_DEBUG") == "1"
