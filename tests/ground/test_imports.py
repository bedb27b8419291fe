"""What the code imports is locked: a package that merely happens to be installed is found out here."""

import ast
import re
import sys
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
OURS = {"dray", "pyspark_dray", "tests", "benchmarks", "scripts"}
TESTING = ROOT / "src" / "dray" / "testing"
WITH_TABLES = tuple(
    ROOT / "src" / "dray" / room for room in ("formats/parquet_v1", "records/columns", "tables")
)
WITH_SPARK = tuple(
    ROOT / folder
    for folder in (
        "src/dray/pipeline",
        "tests/pipeline",
        "tests/spark",
        "tests/agreement",
        "tests/chaos/compaction",
        "benchmarks/to_table",
        "benchmarks/bulk_load.py",
    )
)


def imported(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def locked(name: str) -> set[str]:
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    return set(re.findall(r"^([a-z0-9][a-z0-9._-]*)==", text, re.MULTILINE))


def not_locked(files: list[Path], *locks: str) -> set[tuple[str, str]]:
    """Where something is imported whose distribution the locks do not hold.

    What is not installed, as Spark need not be, is taken for a distribution of the same name.
    """
    distributions, known = packages_distributions(), set.union(*map(locked, locks))
    foreign = {(str(file.relative_to(ROOT)), name) for file in files for name in imported(file)}
    return {
        (file, name)
        for file, name in foreign
        if name not in sys.stdlib_module_names | OURS
        and not any(re.sub(r"[-_.]+", "-", d).lower() in known for d in distributions.get(name, [name]))
    }


def sources(*folders: str, spark: bool = False) -> list[Path]:
    """The files in these folders that may import Spark, or those that may not."""
    files = [file for folder in folders for file in sorted((ROOT / folder).rglob("*.py"))]
    return [file for file in files if any(map(file.is_relative_to, WITH_SPARK)) is spark]


def test_the_package_imports_only_what_the_runtime_lock_holds() -> None:
    files = [file for file in sources("src") if not any(map(file.is_relative_to, (TESTING, *WITH_TABLES)))]
    assert files
    assert not_locked(files, "runtime") == set()


def test_what_has_to_do_with_tables_may_also_import_what_their_lock_holds() -> None:
    files = [file for file in sources("src") if any(map(file.is_relative_to, WITH_TABLES))]
    assert not_locked(files, "tables") == set()
    assert ("src/dray/records/columns/compiled.py", "numba") in not_locked(files, "runtime")


def test_everything_else_imports_only_what_the_dev_lock_holds() -> None:
    assert not_locked(sources("src/dray/testing", "tests", "benchmarks", "scripts"), "dev") == set()


def test_the_pipeline_and_its_tests_may_also_import_what_the_lock_of_spark_holds() -> None:
    assert not_locked(sources("src", spark=True), "spark") == set()
    tests = sources("tests", "benchmarks", spark=True)
    assert not_locked(tests, "dev", "spark") == set()
    assert ("tests/spark/session.py", "pyspark") in not_locked(tests, "dev")


def test_a_package_that_no_lock_holds_is_found_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements" / "runtime.txt").write_text("pyyaml==6 \\\n")
    (tmp_path / "a.py").write_text("import os.path\nimport yaml\nimport dray.log\nfrom pytest import mark\n")
    assert not_locked([tmp_path / "a.py"], "runtime") == {("a.py", "pytest")}
