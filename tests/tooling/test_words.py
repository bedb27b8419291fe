"""Word check, which finds banned words in prose, identifiers and file names."""

from pathlib import Path
from typing import Final

import pytest

from scripts import check_words

EXAMPLES: Final = Path(__file__).parent / "banned_words.txt"
"""A line for each entry of `BANNED`, in its order. The check does not read it."""
RESULTS: Final = {"benchmarks/results/to-table.txt", "benchmarks/results/tables.txt"}


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(check_words, "ROOT", tmp_path)
    return tmp_path


def found_in(tree: Path, text: str, name: str = "module.py") -> list[str]:
    path = tree / name
    path.write_text(text)
    return list(check_words.findings(path))


@pytest.mark.parametrize(
    "text", ["The caller is t{}old.", "def _t{}old() -> None: ...", "t{}old_if_long = 1", "T{}OLD"]
)
def test_banned_word_is_found_in_prose_and_in_identifiers(tree: Path, text: str) -> None:
    (finding,) = found_in(tree, text.replace("{}", ""))
    assert "; write: logged, reported" in finding


@pytest.mark.parametrize(
    "text", ["an intolerable delay", "a cashed cheque", "Kafka's protocol", "a Kafka client"]
)
def test_words_that_contain_a_banned_one_are_left_alone(tree: Path, text: str) -> None:
    assert found_in(tree, text) == []


@pytest.mark.parametrize("text", ["class Group{}: ...", "for{}Else = 1", "HTTP{}()"])
def test_changes_of_case_part_the_words_of_an_identifier(tree: Path, text: str) -> None:
    assert len(found_in(tree, text.replace("{}", "De" + "sk"))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "it gl{}anced at it",
        "compl{}aining clients",
        "str{}etching the lease",
        "jud{}ging by it",
        "a catal{}ogued table",
        "nob{}odys",
    ],
)
def test_inflections_are_found(tree: Path, text: str) -> None:
    assert len(found_in(tree, text.replace("{}", ""))) == 1


@pytest.mark.parametrize("text", ["Run {} on this machine.", "It is {}."])
def test_kafka_with_an_article_needs_a_noun(tree: Path, text: str) -> None:
    assert len(found_in(tree, text.format("a " + "Kafka"))) == 1


@pytest.mark.parametrize(
    "noun", [" broker", " clusters", " consumer group", "-compatible engine", " record batch"]
)
def test_nouns_of_kafka_are_accepted(tree: Path, noun: str) -> None:
    assert found_in(tree, "a " + f"Kafka{noun}") == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("docstring.py", 'def f() -> None:\n    """Return what it go{}es\n    on using."""'),
        ("comment.py", "# the client go{}es\n# on reading"),
        ("document.md", "- The client go{}es\n  on reading."),
    ],
)
def test_phrases_are_found_across_a_line_break(tree: Path, name: str, text: str) -> None:
    (finding,) = found_in(tree, text.replace("{}", ""), name)
    assert finding.startswith(f"{name}:{2 if name == 'docstring.py' else 1}: ")


def test_results_of_benchmarks_are_checked() -> None:
    assert {path.relative_to(check_words.ROOT).as_posix() for path in check_words.tracked([])} >= RESULTS


def test_every_entry_has_an_example_that_only_it_matches() -> None:
    """Otherwise an entry whose pattern cannot match inside the frame would go unnoticed."""
    examples = EXAMPLES.read_text().splitlines()
    for number, (pattern, example) in enumerate(zip(check_words.BANNED, examples, strict=True)):
        entries = {found.lastindex for found in check_words.WORDS.finditer(example)}
        assert entries == {number + 1}, f"{pattern}: {example}"


@pytest.mark.parametrize(
    "text",
    [
        "there is no offset",
        "test_there_is_no_offset",
        "the lease is no longer held",
        "[one for group in sent for one in group]",
        "test_whatever",
    ],
)
def test_ordinary_uses_of_the_words_of_a_phrase_are_accepted(tree: Path, text: str) -> None:
    assert found_in(tree, text) == []


def test_file_name_counts(tree: Path) -> None:
    (finding,) = found_in(tree, "", "test_up" + "keep.py")
    assert "the file's name" in finding


def test_phrase_is_found_in_identifiers_too(tree: Path) -> None:
    phrase = "at" + " hand"
    assert len(found_in(tree, f"is {phrase}")) == 1
    assert len(found_in(tree, phrase.replace(" ", "_") + " = 1")) == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("string.py", 'raise ValueError("the writer is {}")'),
        ("docstring.py", 'def f() -> None:\n    """Return what is {}."""'),
        ("name.py", "def {}_file() -> None: ..."),
        ("document.md", "# Files that are {}"),
    ],
)
def test_strings_docstrings_names_and_documents_are_checked(name: str, text: str, tree: Path) -> None:
    assert len(found_in(tree, text.format("doo" + "med"), name)) == 1


def test_sentence_must_not_open_with_a_relative_who(tree: Path) -> None:
    relative = "# Who" + " commits to no group creates one."
    (finding,) = found_in(tree, relative)
    assert "write: A client that" in finding
    assert found_in(tree, "# Who commits? The writer, who holds the lease.") == []


def test_module_docstring_must_not_open_with_a_relative_clause(tree: Path) -> None:
    (finding,) = found_in(tree, '"""What a broker returns."""')
    assert "noun phrase" in finding
    assert len(found_in(tree, 'r"""What a broker returns."""')) == 1
    assert found_in(tree, '"""Whatsoever."""') == []
    assert found_in(tree, '"""Responses of a broker."""\n"""What each contains."""') == []


def test_check_prints_its_findings_and_fails(
    tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tree / "good.py").write_text("kept = 1")
    (tree / "bad.py").write_text("t" + "old = 1")
    monkeypatch.setattr(check_words, "tracked", lambda paths: [tree / path for path in paths])
    assert check_words.main(["good.py"]) == 0
    assert capsys.readouterr() == ("", "")
    assert check_words.main(["good.py", "bad.py"]) == 1
    printed = capsys.readouterr()
    assert printed.out.startswith("bad.py:1: ")
    assert printed.err == "check_words: 1 in all\n"
