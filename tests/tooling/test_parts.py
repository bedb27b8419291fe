"""Missing real parts, which are listed at the end of a run, and fail it in CI."""

import sys
from pathlib import Path

import pytest

from tests import parts

ROOT = Path(__file__).parents[2]
WITHOUT = ("randomly", "asyncio", "cacheprovider", "hypothesispytest")
PLUGIN = ("--strict-markers", "-ptests.plugins.parts", *(f"-pno:{name}" for name in WITHOUT))
PHANTOM = parts.Part("phantom", "Phantom, a server that is nowhere", lambda: None, "make phantom")
PRESENT = parts.Part(
    "present", "Present, a server that is here", lambda: Path(sys.executable), "make present"
)


OPTIONAL = parts.Part("optional", "Optional, which no registry has", lambda: None, "build it", optional=True)


@pytest.fixture(autouse=True)
def known_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(parts.PARTS, "phantom", PHANTOM)
    monkeypatch.setitem(parts.PARTS, "present", PRESENT)
    monkeypatch.setitem(parts.PARTS, "optional", OPTIONAL)
    monkeypatch.delenv("CI", raising=False)


@pytest.fixture
def needy(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makepyfile(
        """
        import pytest

        @pytest.fixture
        def server():
            raise AssertionError("started although its part is missing")

        @pytest.mark.real("phantom")
        def test_first(server): pass

        @pytest.mark.real("phantom", "present")
        def test_second(server): pass

        def test_plain(): pass
        """
    )
    return pytester


def test_tests_of_a_missing_part_are_skipped_and_listed_at_the_end(needy: pytest.Pytester) -> None:
    result = needy.runpytest(*PLUGIN)
    result.assert_outcomes(passed=1, skipped=2)
    assert "1 passed, 2 skipped" in result.outlines[-2]
    assert result.outlines[-1] == (
        "left out: Phantom, a server that is nowhere (2 tests). To have it: make phantom"
    )
    assert result.ret == pytest.ExitCode.OK


@pytest.mark.parametrize("value", ["true", "1"])
def test_in_ci_a_missing_part_fails(
    needy: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("CI", value)
    result = needy.runpytest(*PLUGIN)
    result.assert_outcomes(passed=1, errors=2)
    result.stdout.fnmatch_lines(["*in CI nothing may be left out*make phantom*"])
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_in_ci_a_missing_optional_part_is_listed(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")
    pytester.makepyfile("import pytest\n@pytest.mark.real('optional')\ndef test_it(): pass")
    result = pytester.runpytest(*PLUGIN)
    result.assert_outcomes(skipped=1)
    assert result.outlines[-1] == "left out: Optional, which no registry has (1 test). To have it: build it"


def test_tests_of_a_present_part_run_and_are_not_listed(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("import pytest\n@pytest.mark.real('present')\ndef test_it(): pass")
    result = pytester.runpytest(*PLUGIN)
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*left out*")


@pytest.mark.parametrize("marker", ["real('nonesuch')", "real"])
def test_unknown_part_is_an_error(pytester: pytest.Pytester, marker: str) -> None:
    pytester.makepyfile(f"import pytest\n@pytest.mark.{marker}\ndef test_it(): pass")
    result = pytester.runpytest(*PLUGIN)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*test_it: mark.real names*seaweedfs*"])


@pytest.mark.slow
def test_xdist_workers_report_skipped_parts(needy: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    needy.makeconftest(
        """
        from tests import parts
        parts.PARTS["phantom"] = parts.Part("phantom", "Phantom", lambda: None, "make phantom")
        parts.PARTS["present"] = parts.Part("present", "Present", lambda: None, "make present")
        """
    )
    result = needy.runpytest_subprocess(*PLUGIN, "-n", "2")
    assert result.outlines[-2:] == [
        "left out: Phantom (2 tests). To have it: make phantom",
        "left out: Present (1 test). To have it: make present",
    ]


def test_locate_returns_the_program_or_raises_with_the_install_command() -> None:
    assert parts.locate("present") == Path(sys.executable)
    with pytest.raises(LookupError, match="To have it: make phantom"):
        parts.locate("phantom")


def test_program_is_located_next_to_the_interpreter_then_on_the_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    own, other = tmp_path / "own", tmp_path / "other"
    for folder, name in ((own, "both"), (other, "both"), (other, "far")):
        folder.mkdir(exist_ok=True)
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(own / "python"))
    monkeypatch.setenv("PATH", str(other))
    assert parts.program("both")() == own / "both"
    assert parts.program("far")() == other / "far"
    assert parts.program("nowhere")() is None


def test_package_is_found_without_being_imported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "explosive").mkdir()
    (tmp_path / "explosive" / "__init__.py").write_text("raise AssertionError('imported')\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert parts.package("explosive")() == tmp_path / "explosive" / "__init__.py"
    assert parts.package("nonesuch")() is None
