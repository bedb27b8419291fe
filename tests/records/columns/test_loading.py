"""When numba is loaded, where its cache lies, and what is said when it is missing."""

import subprocess
import sys

import numba
import pytest

from dray.records.columns.compiled import compiled


def _run(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )


def test_the_rooms_below_do_not_load_it() -> None:
    done = _run(
        "import sys, dray.records, dray.formats\n"
        "print(sorted({'numba', 'numpy', 'pyarrow'} & sys.modules.keys()))"
    )
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.parametrize("missing", ["numba", "numpy", "pyarrow"])
def test_what_is_missing_is_told_with_the_extra_that_brings_it(missing: str) -> None:
    done = _run(f"import sys; sys.modules[{missing!r}] = None; import dray.records.columns")
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: dray.records.columns needs numba, numpy and pyarrow")
    assert missing in last
    assert "dray[tables]" in last


def test_without_pyarrow_the_parquet_format_says_the_same() -> None:
    done = _run("import sys; sys.modules['pyarrow'] = None; import dray.formats.parquet_v1")
    assert "ImportError: dray.formats.parquet_v1 needs pyarrow" in done.stderr
    assert "dray[tables]" in done.stderr


def test_where_nothing_can_be_cached_it_is_compiled_all_the_same() -> None:
    names: dict[str, object] = {}
    exec("def add(a, b):\n    return a + b\n", names)  # numba has no directory for what has no file
    add = names["add"]
    assert callable(add)
    with pytest.raises(RuntimeError, match="no locator available"):
        numba.njit(cache=True)(add)
    assert compiled(add)(2, 3) == 5
