"""Imports of locked packages only, not of packages that merely happen to be installed."""

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
    ROOT / "src" / "dray" / package for package in ("formats/parquet_v1", "records/columns", "tables")
)
WITH_AWS = tuple(
    ROOT / "src" / "dray" / file for file in ("objects/cloud/aws_profile.py", "tables/iceberg/glue.py")
)
WITH_SPARK = tuple(
    ROOT / folder
    for folder in (
        "src/dray/compaction",
        "src/dray/maintenance",
        "src/dray/scan",
        "src/dray/spark",
        "src/dray/sql",
        "tests/compaction",
        "tests/maintenance",
        "tests/spark",
        "tests/sql",
        "tests/spark_connector",
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
    """Return the imports, with their files, whose distribution is in none of the locks.

    A package that is not installed, as Spark may be, is assumed to be a distribution of the same name.
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
    """Return the files in these folders that may import Spark, or those that may not."""
    files = [file for folder in folders for file in sorted((ROOT / folder).rglob("*.py"))]
    return [file for file in files if any(map(file.is_relative_to, WITH_SPARK)) is spark]


def test_product_imports_only_packages_of_the_runtime_lock() -> None:
    others = (TESTING, *WITH_TABLES, *WITH_AWS)
    files = [file for file in sources("src") if not any(map(file.is_relative_to, others))]
    assert files
    assert not_locked(files, "runtime") == set()


def test_modules_for_aws_import_packages_of_the_aws_lock() -> None:
    assert not_locked(list(WITH_AWS), "runtime", "tables", "aws") == set()
    assert ("src/dray/tables/iceberg/glue.py", "botocore") in not_locked(list(WITH_AWS), "runtime", "tables")


def test_table_packages_may_import_packages_of_the_tables_lock() -> None:
    files = [
        file for file in sources("src") if any(map(file.is_relative_to, WITH_TABLES)) and file not in WITH_AWS
    ]
    assert not_locked(files, "tables") == set()
    assert ("src/dray/records/columns/compiled.py", "numba") in not_locked(files, "runtime")


def test_tests_and_tools_import_only_packages_of_the_dev_lock() -> None:
    assert not_locked(sources("src/dray/testing", "tests", "benchmarks", "scripts"), "dev") == set()


def test_compaction_and_sql_may_import_packages_of_the_spark_lock() -> None:
    assert not_locked(sources("src", spark=True), "spark") == set()
    tests = sources("tests", "benchmarks", spark=True)
    assert not_locked(tests, "dev", "spark") == set()
    assert ("tests/spark_connector/session.py", "pyspark") in not_locked(tests, "dev")


def test_import_of_an_unlocked_package_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements" / "runtime.txt").write_text("pyyaml==6 \\\n")
    (tmp_path / "a.py").write_text("import os.path\nimport yaml\nimport dray.log\nfrom pytest import mark\n")
    assert not_locked([tmp_path / "a.py"], "runtime") == {("a.py", "pytest")}
