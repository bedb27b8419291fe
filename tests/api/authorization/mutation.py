"""Mutants of the handlers, three of each check of what a client may do.

    skipped      as if everything were allowed
    denied       as if nothing were allowed
    exchanged    with another operation

The checks are found in the source of `dray.api`, so a new one is a mutant too. A mutant replaces the code of
the function around the check while it is active.
"""

import ast
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from functools import cache
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, Final, NamedTuple, TypeAlias

from dray import api

_FOLDER: Final = Path(api.__path__[0])
_EVERYTHING: Final = (1 << 16) - 1
_ALLOWED: Final[Mapping[str, bool | int | None]] = {
    "allows": True,
    "allows_on_topic": True,
    "allows_on_group": True,
    "allows_on_cluster": True,
    "allows_on_some_topic": True,
    "require_on_topic": None,
    "require_on_group": None,
    "require_on_cluster": None,
    "require_on_resource": None,
    "operations": _EVERYTHING,
    "authorized_operations": _EVERYTHING,
    "operations_on_cluster": _EVERYTHING,
}
"""What a check returns that is skipped."""
_DECISIONS: Final = ("decide", "decide_by_resource_type")
"""Their result has a field `allowed`."""
_OTHER: Final = {"DESCRIBE": "READ"}
"""The operation that takes the place of another; by default DESCRIBE."""
_Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


class Kind(Enum):
    SKIPPED = "skipped"
    DENIED = "denied"
    EXCHANGED = "exchanged"


class Mutant(NamedTuple):
    """A change of a check: the n-th of a function."""

    module: str
    function: str
    """Its qualified name."""
    number: int
    check: str
    kind: Kind

    def __str__(self) -> str:
        return f"{self.module}.{self.function}:{self.number}:{self.check}:{self.kind.value}"


def mutants() -> tuple[Mutant, ...]:
    """Return the mutants of all modules."""
    found: list[Mutant] = []
    for path in sorted(_FOLDER.glob("*.py")):
        for name, definition in _functions(_tree(path.stem), ""):
            checks = _Mutation()
            checks.visit(definition)
            found += [
                Mutant(path.stem, name, number, check, kind)
                for number, (check, node) in enumerate(checks.found)
                for kind in _kinds(check, node)
            ]
    return tuple(found)


def _kinds(check: str, node: ast.expr) -> Iterator[Kind]:
    yield Kind.SKIPPED
    if _ALLOWED[check] is True:
        yield Kind.DENIED
    if any(map(_is_operation, ast.walk(node))):
        yield Kind.EXCHANGED


@contextmanager
def active(mutant: Mutant) -> Iterator[None]:
    """Change the check."""
    function = _function(mutant)
    original = function.__code__
    function.__code__ = _code(mutant)
    try:
        yield
    finally:
        function.__code__ = original


class _Mutation(ast.NodeTransformer):
    """Finds all checks, and changes the n-th."""

    def __init__(self, number: int | None = None, kind: Kind = Kind.SKIPPED) -> None:
        self.found: list[tuple[str, ast.expr]] = []
        self._number = number
        self._kind = kind

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = _called(node)
        return self._check(name, node) if name in _ALLOWED else self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if node.attr == "allowed" and isinstance(node.value, ast.Call):
            name = _called(node.value)
            if name in _DECISIONS:
                return self._check("allows", node)
        return self.generic_visit(node)

    def _check(self, name: str, node: ast.expr) -> ast.AST:
        self.found.append((name, node))
        if len(self.found) - 1 != self._number:
            return self.generic_visit(node)
        match self._kind:
            case Kind.SKIPPED:
                return ast.copy_location(ast.Constant(_ALLOWED[name]), node)
            case Kind.DENIED:
                return ast.copy_location(ast.Constant(value=False), node)
            case Kind.EXCHANGED:
                operation = next(one for one in ast.walk(node) if _is_operation(one))
                assert isinstance(operation, ast.Attribute)
                operation.attr = _OTHER.get(operation.attr, "DESCRIBE")
                return node


def _is_operation(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(value=ast.Name(id="Operation")):
            return True
    return False


def _called(node: ast.Call) -> str:
    match node.func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


@cache
def _source(module: str) -> str:
    return (_FOLDER / f"{module}.py").read_text()


def _tree(module: str) -> ast.Module:
    return ast.parse(_source(module))


def _functions(tree: ast.AST, prefix: str) -> Iterator[tuple[str, _Definition]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{prefix}{node.name}", node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node, f"{prefix}{node.name}.")


def _function(mutant: Mutant) -> FunctionType:
    found: Any = import_module(f"dray.api.{mutant.module}")
    for part in mutant.function.split("."):
        found = getattr(found, part)
    assert isinstance(found, FunctionType)
    return found


def _code(mutant: Mutant) -> CodeType:
    tree = _tree(mutant.module)
    definition = dict(_functions(tree, ""))[mutant.function]
    _Mutation(mutant.number, mutant.kind).visit(definition)
    compiled = compile(tree, f"{mutant.module} (mutant)", "exec")
    return _inner(compiled, mutant.function.split("."))


def _inner(code: CodeType, path: list[str]) -> CodeType:
    for name in path:
        code = next(one for one in code.co_consts if isinstance(one, CodeType) and one.co_name == name)
    return code
