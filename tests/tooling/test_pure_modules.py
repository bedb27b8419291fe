"""Modules that call themselves pure: the import contracts check each of them."""

import ast
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
CALLS_ITSELF_PURE = re.compile(r"(?<=[.:]) Pure\b")


def test_every_module_that_calls_itself_pure_is_under_a_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    pure = {found["id"]: found["source_modules"] for found in contracts if found["id"].startswith("pure")}
    assert all(re.match(r"dray\.\w+$", package) for package in pure["pure"])
    outside = {name for name in _pure_modules() if not name.startswith(tuple(pure["pure"]))}
    assert outside == set(pure["pure-modules"])


def _pure_modules() -> set[str]:
    source = ROOT / "src"
    return {
        ".".join(path.relative_to(source).with_suffix("").parts)
        for path in source.rglob("*.py")
        if CALLS_ITSELF_PURE.search((ast.get_docstring(ast.parse(path.read_text())) or "").replace("\n", " "))
    }
