"""Import contracts, which report a forbidden import added to a copy of the tree."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
LINT_IMPORTS = Path(sys.executable).with_name("lint-imports")

Lint = Callable[[], subprocess.CompletedProcess[str]]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the source tree that a test may break."""
    copy = tmp_path / "src" / "dray"
    shutil.copytree(ROOT / "src" / "dray", copy, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return copy


@pytest.fixture
def lint(tree: Path, tmp_path: Path) -> Lint:
    environment = os.environ | {"PYTHONPATH": str(tree.parent), "COLUMNS": "200", "NO_COLOR": "1"}
    command = [str(LINT_IMPORTS), "--no-cache", "--no-logo"]

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=60
        )

    return run


def contract(name: str) -> dict[str, Any]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    return next(found for found in settings["contracts"] if found["id"] == name)


def rows() -> list[set[str]]:
    """Return the packages of each layer, from the top."""
    return [set(re.findall(r"\w+", line)) for line in contract("packages")["layers"]]


def packages_on_disk() -> set[str]:
    source = ROOT / "src" / "dray"
    modules = {path.stem for path in source.glob("*.py") if not path.stem.startswith("__")}
    return modules | {path.parent.name for path in source.glob("*/__init__.py")}


def test_tree_passes(lint: Lint) -> None:
    result = lint()
    assert result.returncode == 0, result.stdout
    assert "0 broken" in result.stdout


@pytest.mark.parametrize("package", sorted(contract("pure")["source_modules"]))
def test_pure_package_may_not_import_asyncio(tree: Path, lint: Lint, package: str) -> None:
    path, module = tree / package.removeprefix("dray."), package
    if not path.with_suffix(".py").is_file():
        path, module = path / "impure", f"{package}.impure"
    with path.with_suffix(".py").open("a") as source:
        source.write("import asyncio\n")
    result = lint()
    assert result.returncode != 0
    assert "Pure packages have no asyncio, clock, randomness, logging or store BROKEN" in result.stdout
    assert f"{module} -> asyncio" in result.stdout


@pytest.mark.parametrize(
    ("package", "statement", "named"),
    [
        ("index", "import dray.log", "dray.index.upward -> dray.log"),
        ("meta", "from dray.objects import port", "dray.meta.upward -> dray.objects.port"),
        ("observe", "from dray.runtime import clock", "dray.observe.upward -> dray.runtime.clock"),
        ("log", "import dray.testing", "dray.log.upward -> dray.testing"),
    ],
)
def test_package_may_not_import_its_peers_or_those_above(
    tree: Path, lint: Lint, package: str, statement: str, named: str
) -> None:
    (tree / package / "upward.py").write_text(f"{statement}\n")
    result = lint()
    assert result.returncode != 0
    assert "A package may import only packages below it BROKEN" in result.stdout
    assert named in result.stdout


def test_package_without_a_layer_is_refused(tree: Path, lint: Lint) -> None:
    (tree / "unlisted").mkdir()
    (tree / "unlisted" / "__init__.py").write_text('"""A package without a layer."""\n')
    result = lint()
    assert result.returncode != 0
    assert "dray.unlisted" in result.stdout


@pytest.mark.parametrize(
    ("folder", "statement", "imported"),
    [
        ("spark", "from pyspark.sql import SparkSession", "pyspark"),
        ("spark", "from py4j.protocol import Py4JError", "py4j"),
        ("sql", "import duckdb", "duckdb"),
        ("cli", "import click", "click"),
    ],
)
def test_engine_is_imported_in_its_own_package_only(
    tree: Path, lint: Lint, folder: str, statement: str, imported: str
) -> None:
    (tree / folder / "within.py").write_text(f"{statement}\n")
    allowed = lint()
    assert allowed.returncode == 0, allowed.stdout
    for package in ("sweep", "compaction"):
        (tree / package / "beside.py").write_text(f"{statement}\n")
    refused = lint()
    assert refused.returncode != 0
    assert f"dray.sweep.beside -> {imported}" in refused.stdout
    assert f"dray.compaction.beside -> {imported}" in refused.stdout


def test_adapters_are_imported_by_the_composition_root_only(tree: Path, lint: Lint) -> None:
    adapters = contract("adapters")["forbidden_modules"]
    for package in ("server", "cli"):
        (tree / package / "opening.py").write_text("".join(f"import {adapter}\n" for adapter in adapters))
    refused = lint()
    assert refused.returncode != 0
    for adapter in adapters:
        assert f"dray.cli.opening -> {adapter}" in refused.stdout
    assert "dray.server.opening" not in refused.stdout


def test_every_package_and_every_adapter_is_in_the_contract() -> None:
    others = {"meta", "objects", "tables", "server", "testing"}
    assert {f"dray.{name}" for name in packages_on_disk() - others} == set(
        contract("adapters")["source_modules"]
    )
    source = ROOT / "src" / "dray"
    folders = {
        path.parent for port in ("meta", "objects", "tables") for path in source.glob(f"{port}/*/__init__.py")
    }
    adapters = {".".join(("dray", *folder.relative_to(source).parts)) for folder in folders}
    assert adapters | {"dray.objects.memory"} == set(contract("adapters")["forbidden_modules"])


def test_compaction_may_not_import_maintenance(tree: Path, lint: Lint) -> None:
    with (tree / "compaction" / "publish.py").open("a") as publish:
        publish.write("import dray.maintenance.snapshot_expiry\n")
    result = lint()
    assert result.returncode != 0
    assert "dray.compaction.publish -> dray.maintenance.snapshot_expiry" in result.stdout


def test_every_pure_package_is_in_the_contract() -> None:
    pure_rows = rows()[-3:]
    assert pure_rows[-1] == {"ids"}
    held = {name.removeprefix("dray.") for name in contract("pure")["source_modules"]}
    assert held == set.union(*pure_rows) & packages_on_disk()


def test_every_package_has_a_layer() -> None:
    assert packages_on_disk() <= set.union(*rows())
    assert contract("packages")["exhaustive"] is True
