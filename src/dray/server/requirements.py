"""Optional packages of a command, checked before the command imports them."""

from collections.abc import Iterable
from importlib.util import find_spec

from dray.server.errors import ConfigurationError


def require(modules: Iterable[str], extra: str) -> None:
    """Raise `ConfigurationError` if a module is not installed; `extra` is the extra of Dray that has them."""
    missing = [name for name in modules if find_spec(name) is None]
    if missing:
        raise ConfigurationError(f"missing packages: {', '.join(missing)}; install dray[{extra}]")
