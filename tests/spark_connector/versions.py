"""Run of the Spark tests with another version than the locked one."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).parents[2]
_TESTS: Final = ("tests/spark", "tests/cli/test_compactor.py")
_PROBLEM: Final = re.compile(r"^(FAILED|ERROR) .*")
VERSIONS: Final = ("4.2", "4.3")


def passes_with(version: str, home: Path, say: Callable[[str], None]) -> tuple[str, ...]:
    """Run the tests, with temporary files in `home`; returns the failures."""
    environment = {**os.environ, "PYTHONPATH": str(_installed(version, say)), "CI": "true"}
    say(f"tests run with pyspark {_imported(environment, version)}")
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", f"--basetemp={home / 'tests'}", *_TESTS],
        cwd=_ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    *words, last = ran.stdout.splitlines() or ["no output from pytest"]
    (home / "tests.log").write_text(ran.stdout)
    say(last)
    if not ran.returncode:
        return ()
    return tuple(line for line in words if _PROBLEM.match(line)) or (last,)


def _installed(version: str, say: Callable[[str], None]) -> Path:
    """Return the folder with the packages of this version's lock, installed once."""
    lock = Path("requirements", f"pyspark-{version}.txt")
    target = _ROOT / ".cache" / lock.stem
    stamp = target / "lock.txt"
    wanted = (_ROOT / lock).read_text()
    if stamp.is_file() and stamp.read_text() == wanted:
        return target
    say(f"installing {lock}")
    shutil.rmtree(target, ignore_errors=True)
    subprocess.run(
        [
            *(str(Path(sys.executable).with_name("uv")), "pip", "install", "--quiet"),
            *("--python", sys.executable, "--target", str(target)),
            *("--no-deps", "--no-build-isolation", "--require-hashes", "--requirement", str(lock)),
        ],
        cwd=_ROOT,
        env={**os.environ, "UV_SYSTEM_CERTS": "true", "UV_NATIVE_TLS": "true"},
        check=True,
    )
    stamp.write_text(wanted)
    return target


def _imported(environment: dict[str, str], version: str) -> str:
    """Check that programs with this environment import this version, and return it in full."""
    program = "import pyspark; print(pyspark.__version__)"
    found = subprocess.check_output([sys.executable, "-c", program], env=environment, text=True).strip()
    if not found.startswith(f"{version}."):
        raise RuntimeError(f"pyspark {found} was imported instead of {version}")
    return found
