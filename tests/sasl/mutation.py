"""Mutation of `dray.sasl`: the package with one check removed or weakened.

A mutant is an edit of the source. `mutated` imports the package and the tests' own modules again, with the
edit, and gives the attacks on it; afterwards the real modules are back in place.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType
from typing import Final

import dray

_SOURCE: Final = Path(dray.__file__).parent / "sasl"
_KEPT: Final = ("tests.sasl.keys", "tests.sasl.mutation", "tests.sasl.mutants", "tests.sasl.token_mutants")
"""Modules that know nothing of the package."""


@dataclass(frozen=True)
class Mutant:
    """An edit, and the attack that succeeds on it."""

    name: str
    module: str
    old: str
    new: str
    attack: str

    def edited(self) -> str:
        source = (_SOURCE / f"{self.module}.py").read_text()
        assert source.count(self.old) == 1, (
            f"{self.name}: {self.old!r} is {source.count(self.old)} times there"
        )
        return source.replace(self.old, self.new)


class _Edited(importlib.abc.Loader):
    """A loader of edited source."""

    def __init__(self, source: str, path: str) -> None:
        self._source, self._path = source, path

    def exec_module(self, module: ModuleType) -> None:
        code: CodeType = compile(self._source, f"{self._path} (mutant)", "exec")
        exec(code, module.__dict__)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the edited module only."""

    def __init__(self, mutant: Mutant) -> None:
        self._name = f"dray.sasl.{mutant.module}"
        self._loader = _Edited(mutant.edited(), mutant.module)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._name:
            return None
        return importlib.util.spec_from_loader(fullname, self._loader)


@contextmanager
def mutated(mutant: Mutant) -> Iterator[Mapping[str, Callable[[], bool]]]:
    """Yield the attacks, on the mutant."""
    finder = _Finder(mutant)
    real = {name: sys.modules.pop(name) for name in list(sys.modules) if _is_replaced(name)}
    sys.meta_path.insert(0, finder)
    try:
        attacks: Mapping[str, Callable[[], bool]] = importlib.import_module(
            "tests.sasl.attacks.catalog"
        ).ATTACKS
        yield attacks
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if _is_replaced(name)]:
            del sys.modules[name]
        sys.modules.update(real)
        for name, module in real.items():
            parent, _, child = name.rpartition(".")
            setattr(sys.modules[parent], child, module)


def _is_replaced(name: str) -> bool:
    return name.startswith(("dray.sasl", "tests.sasl.")) and name not in _KEPT and ".test_" not in name
