"""Checks of documents: links, references to code, length of lines, forbidden words."""

import subprocess
import sys
from pathlib import Path

import pytest

from scripts import check_docs

ROOT = Path(__file__).parents[2]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "map.md").write_text(
        "# The map\n\n## Life of an object\n\n### A `code`, & more: 1/2\n\n## Twice\n\n## Twice\n"
    )
    return tmp_path


def faults(tree: Path) -> list[str]:
    files = check_docs.tracked_files(tree)
    checks = (
        check_docs.check_links,
        check_docs.check_references,
        check_docs.check_lines,
        check_docs.check_words,
    )
    return [str(fault) for check in checks for fault in check(tree, files)]


@pytest.fixture
def module(tree: Path) -> Path:
    path = tree / "src" / "dray" / "log" / "writer.py"
    path.parent.mkdir(parents=True)
    path.write_text("LIMIT: Final = 1\nclass Writer:\n    async def append(self): ...\ndef seal(): ...\n")
    return path


@pytest.mark.parametrize("name", ["", ":LIMIT", ":Writer", ":Writer.append", ":seal"])
def test_reference_to_existing_code_is_accepted(tree: Path, module: Path, name: str) -> None:
    (tree / "page.md").write_text(f"See `log/writer.py{name}`.\n")
    assert faults(tree) == []


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("log/reader.py", "there is no such file in src/dray"),
        ("log/writer.py:append", "log/writer.py defines no append"),
        ("log/writer.py:Writer.close", "log/writer.py defines no Writer.close"),
    ],
)
def test_reference_to_missing_code_is_reported(
    tree: Path, module: Path, reference: str, message: str
) -> None:
    (tree / "page.md").write_text(f"See\n`{reference}`.\n")
    (fault,) = faults(tree)
    assert fault.startswith("page.md:2: ")
    assert fault.endswith(message)


@pytest.mark.parametrize(
    "target",
    [
        "docs/map.md",
        "docs/map.md#life-of-an-object",
        "docs/map.md#a-code--more-12",
        "docs/map.md#twice-1",
        "docs",
        "#start",
        "https://example.org/nowhere#x",
        "mailto:someone@example.org",
    ],
)
def test_link_that_resolves_is_accepted(tree: Path, target: str) -> None:
    (tree / "README.md").write_text(f"# Start\n\nSee [this]({target}).\n")
    assert faults(tree) == []


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[x](docs/nowhere.md)", "docs/nowhere.md: there is no such file"),
        ("![x](missing.png)", "missing.png: there is no such file"),
        ("[x](../outside.md)", "../outside.md: there is no such file"),
        ("[x](docs/map.md#twice-2)", "no heading of map.md has that anchor"),
        ("[x](#elsewhere)", "no heading of README.md has that anchor"),
        ("[ref]: docs/gone.md", "docs/gone.md: there is no such file"),
    ],
)
def test_broken_link_is_reported_with_its_line(tree: Path, text: str, named: str) -> None:
    (tree / "README.md").write_text(f"# Start\n\n{text}\n")
    (found,) = faults(tree)
    assert found.startswith("README.md:3: link to ")
    assert found.endswith(named)


def test_links_in_code_are_ignored(tree: Path) -> None:
    (tree / "README.md").write_text("`[x](a.md)`\n\n```\n[x](b.md)\n# no heading\n```\n\n[y](c.md)\n")
    assert faults(tree) == ["README.md:8: link to c.md: there is no such file"]


@pytest.mark.parametrize(
    ("first", "rest", "what"),
    [
        ("see /wo", "rk/main", "a path on a particular machine"),
        ("cd /ro", "ot/x", "a path on a particular machine"),
        ("open '/ho", "me/ann/x'", "a path on a particular machine"),
        ("from https://pyp", "i.org/simple", "the host of a package registry"),
        ("files.python", "hosted.org", "the host of a package registry"),
        ("from https://static.crates", ".io/crates", "the host of a package registry"),
        ("the pro", "mpt said", "a word on how the text was written"),
        ("an age", "nt wrote it", "a word on how the text was written"),
        ("an L", "LM wrote it", "a word on how the text was written"),
    ],
)
def test_forbidden_word_is_reported_with_its_line(tree: Path, first: str, rest: str, what: str) -> None:
    (tree / "notes.py").write_text(f"# fine\n# {first}{rest}\n")
    (found,) = faults(tree)
    assert found.startswith(f"notes.py:2: {what}: ")


@pytest.mark.parametrize(
    "text",
    [
        "User-Agent: dray",
        "registry+https://github.com/rust-lang/crates.io-index",  # as every Cargo.lock says
        "reagents",
        "promptly",
        "/workers/1",
        "docs/work/x",
        "homes/ann",
        "a session expires",
        "~/root",
    ],
)
def test_words_that_contain_a_forbidden_one_are_accepted(tree: Path, text: str) -> None:
    (tree / "notes.py").write_text(f"# {text}\n")
    assert faults(tree) == []


def test_long_line_of_prose_is_reported(tree: Path) -> None:
    (tree / "page.md").write_text(f"{'é' * 120}\n{'é' * 121}\n")
    assert faults(tree) == ["page.md:2: 121 columns; at most 120"]


@pytest.mark.parametrize("text", ["| {} |", "```\n{}\n```", "Generated by `make x`; do not edit.\n\n{}"])
def test_long_line_of_a_table_code_or_a_generated_page_is_accepted(tree: Path, text: str) -> None:
    (tree / "page.md").write_text(text.format("x" * 121) + "\n")
    assert faults(tree) == []


def test_binary_file_is_ignored(tree: Path) -> None:
    (tree / "golden.bin").write_bytes(b"\xff\xfe\x00")
    assert faults(tree) == []


def test_command_prints_the_faults_and_fails(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check_docs.main(["--root", str(tree)]) == 0
    (tree / "README.md").write_text("[x](nowhere.md)\n")
    assert check_docs.main(["--root", str(tree)]) == 1
    assert capsys.readouterr().out == "README.md:1: link to nowhere.md: there is no such file\n"


def test_walk_ignores_hidden_and_generated_folders(tree: Path) -> None:
    for folder in (".venv", "build", "dray.egg-info", "src/__pycache__"):
        (tree / folder).mkdir(parents=True)
        (tree / folder / "page.md").write_text("[x](nowhere.md)\n")
    assert [path.name for path in check_docs.walk(tree)] == ["map.md"]


def test_this_tree_passes() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "check_docs.py")]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert result.returncode == 0, result.stdout + result.stderr
