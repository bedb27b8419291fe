"""Loading of numba: only when needed, with an optional cache, and a remedy if it is missing."""

import subprocess
import sys

import numba
import pytest

from dray.records.columns.compiled import compiled


def _run(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )


def test_lower_layers_do_not_load_it() -> None:
    done = _run(
        "import sys, dray.records, dray.formats\n"
        "print(sorted({'numba', 'numpy', 'pyarrow'} & sys.modules.keys()))"
    )
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.parametrize("missing", ["numba", "numpy", "pyarrow"])
def test_missing_package_is_reported_with_the_extra_to_install(missing: str) -> None:
    done = _run(f"import sys; sys.modules[{missing!r}] = None; import dray.records.columns")
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: dray.records.columns needs numba, numpy and pyarrow")
    assert missing in last
    assert "dray[tables]" in last


def test_parquet_format_reports_missing_pyarrow_too() -> None:
    done = _run("import sys; sys.modules['pyarrow'] = None; import dray.formats.parquet_v1")
    assert "ImportError: dray.formats.parquet_v1 needs pyarrow" in done.stderr
    assert "dray[tables]" in done.stderr


def test_without_a_cache_kernels_are_compiled() -> None:
    names: dict[str, object] = {}
    exec("def add(a, b):\n    return a + b\n", names)  # numba has no cache directory for code without a file
    add = names["add"]
    assert callable(add)
    with pytest.raises(RuntimeError, match="no locator available"):
        numba.njit(cache=True)(add)
    assert compiled(add)(2, 3) == 5
