"""The machine that checks the layering works: a forbidden import, added to a copy of the tree, is named."""

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
def package(tmp_path: Path) -> Path:
    """A copy of the package that a test may spoil."""
    copy = tmp_path / "src" / "dray"
    shutil.copytree(ROOT / "src" / "dray", copy, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return copy


@pytest.fixture
def lint(package: Path, tmp_path: Path) -> Lint:
    environment = os.environ | {"PYTHONPATH": str(package.parent), "COLUMNS": "200", "NO_COLOR": "1"}
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
    """The rooms of each line of the layering, from the top."""
    return [set(re.findall(r"\w+", line)) for line in contract("rooms")["layers"]]


def rooms_on_disk() -> set[str]:
    return {path.parent.name for path in (ROOT / "src" / "dray").glob("*/__init__.py")}


def test_the_tree_as_it_is_passes(lint: Lint) -> None:
    result = lint()
    assert result.returncode == 0, result.stdout
    assert "0 broken" in result.stdout


@pytest.mark.parametrize("room", sorted(contract("pure")["source_modules"]))
def test_a_pure_room_may_not_import_asyncio(package: Path, lint: Lint, room: str) -> None:
    (package / room.removeprefix("dray.") / "impure.py").write_text("import asyncio\n")
    result = lint()
    assert result.returncode != 0
    assert "Pure rooms have no asyncio, clock, randomness, logging or store BROKEN" in result.stdout
    assert f"{room}.impure -> asyncio" in result.stdout


@pytest.mark.parametrize(
    ("room", "statement", "named"),
    [
        ("index", "import dray.log", "dray.index.upward -> dray.log"),
        ("meta", "from dray.objects import port", "dray.meta.upward -> dray.objects.port"),
        ("observe", "from dray.runtime import clock", "dray.observe.upward -> dray.runtime.clock"),
        ("log", "import dray.testing", "dray.log.upward -> dray.testing"),
    ],
)
def test_a_room_may_not_import_a_room_above_or_beside_it(
    package: Path, lint: Lint, room: str, statement: str, named: str
) -> None:
    (package / room / "upward.py").write_text(f"{statement}\n")
    result = lint()
    assert result.returncode != 0
    assert "A room may import only rooms below it BROKEN" in result.stdout
    assert named in result.stdout


def test_a_room_that_no_layer_names_is_refused(package: Path, lint: Lint) -> None:
    (package / "cellar").mkdir()
    (package / "cellar" / "__init__.py").write_text('"""A room nobody placed."""\n')
    result = lint()
    assert result.returncode != 0
    assert "dray.cellar" in result.stdout


@pytest.mark.parametrize(
    ("folder", "statement", "imported"),
    [
        ("spark", "from pyspark.sql import SparkSession", "pyspark"),
        ("spark", "from py4j.protocol import Py4JError", "py4j"),
        ("sql", "import duckdb", "duckdb"),
    ],
)
def test_an_engine_is_for_its_own_folder_only(
    package: Path, lint: Lint, folder: str, statement: str, imported: str
) -> None:
    (package / "pipeline" / folder / "within.py").write_text(f"{statement}\n")
    allowed = lint()
    assert allowed.returncode == 0, allowed.stdout
    for room in ("sweep", "pipeline"):
        (package / room / "beside.py").write_text(f"{statement}\n")
    refused = lint()
    assert refused.returncode != 0
    assert f"dray.sweep.beside -> {imported}" in refused.stdout
    assert f"dray.pipeline.beside -> {imported}" in refused.stdout


def test_rounds_may_not_ask_for_the_care_of_tables(package: Path, lint: Lint) -> None:
    with (package / "pipeline" / "publish.py").open("a") as publish:
        publish.write("import dray.pipeline.care.upkeep\n")
    result = lint()
    assert result.returncode != 0
    assert "dray.pipeline.publish -> dray.pipeline.care.upkeep" in result.stdout


def test_every_pure_room_on_disk_is_held_to_purity() -> None:
    pure_rows = rows()[-2:]
    assert pure_rows[-1] == {"ids"}
    held = {name.removeprefix("dray.") for name in contract("pure")["source_modules"]}
    assert held == set.union(*pure_rows) & rooms_on_disk()


def test_every_room_on_disk_has_a_line() -> None:
    assert rooms_on_disk() <= set.union(*rows())
    assert contract("rooms")["exhaustive"] is True
