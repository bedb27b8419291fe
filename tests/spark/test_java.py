"""Search for a Java runtime, and the error if none is suitable."""

import subprocess
from pathlib import Path

import pytest

from dray.spark.java import Candidate, JavaMissing, choose, find_java, version_in, wrapped


def candidate(where: str, version: str) -> Candidate:
    return Candidate(where, Path(f"/{where}/bin/java"), Path(f"/{where}"), version)


def test_first_suitable_version_is_chosen() -> None:
    chosen = choose(
        [candidate("a", ""), candidate("b", "1.8.0_392"), candidate("c", "21"), candidate("d", "25")]
    )
    assert (chosen.home, chosen.major) == (Path("/c"), 21)


@pytest.mark.parametrize(
    ("version", "fits"), [("16.0.2", False), ("17", True), ("17.0.15", True), ("26-ea", True)]
)
def test_java_17_is_the_minimum(version: str, fits: bool) -> None:
    if fits:
        assert choose([candidate("a", version)]).version == version
        return
    with pytest.raises(JavaMissing, match=r"a has Java 16"):
        choose([candidate("a", version)])


def test_error_names_what_was_found_and_what_to_install() -> None:
    with pytest.raises(JavaMissing) as raised:
        choose([candidate("JAVA_HOME", ""), candidate("PATH", "11.0.1")])
    assert str(raised.value) == (
        "Spark needs Java 17 or newer (JAVA_HOME has none that runs, PATH has Java 11.0.1): "
        "pip install 'dray[spark]', or set JAVA_HOME"
    )


@pytest.mark.parametrize(
    ("output", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment', "17.0.15"),
        ('java version "1.8.0_392"', "1.8.0_392"),
        ("no such thing", ""),
    ],
)
def test_version_is_parsed_from_the_output(output: str, version: str) -> None:
    assert version_in(output) == version


def fake_java(home: Path, version: str) -> Path:
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    program.chmod(0o755)
    return program


def test_java_home_takes_precedence_over_path(tmp_path: Path) -> None:
    fake_java(tmp_path / "home", "21.0.1")
    on_path = fake_java(tmp_path / "other", "17.0.1")
    environ = {"JAVA_HOME": str(tmp_path / "home"), "PATH": str(on_path.parent)}
    found = find_java(tmp_path, environ)
    assert (found.home, found.version) == (tmp_path / "home", "21.0.1")


def test_java_home_that_is_too_old_falls_back_to_path(tmp_path: Path) -> None:
    fake_java(tmp_path / "home", "11.0.1")
    on_path = fake_java(tmp_path / "other", "17.0.1")
    found = find_java(tmp_path, {"JAVA_HOME": str(tmp_path / "home"), "PATH": str(on_path.parent)})
    assert (found.home, found.program) == (None, on_path)


def test_wrapper_drops_one_option_and_passes_the_others_unchanged(tmp_path: Path) -> None:
    program = tmp_path / "it's java"
    program.write_text("#!/bin/sh\nprintf '<%s>' \"$@\"\n")
    program.chmod(0o755)
    home = wrapped(program, tmp_path / "home")
    options = ["-cp", "a b", "--add-modules=jdk.incubator.vector", "", "*", "--add-modules=java.se"]
    ran = subprocess.run([home / "bin" / "java", *options], capture_output=True, text=True, check=True)
    assert ran.stdout == "<-cp><a b><><*><--add-modules=java.se>"
    assert wrapped(program, home) == home
    assert [path.name for path in (home / "bin").iterdir()] == ["java"]
