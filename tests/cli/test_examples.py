"""Examples on the help pages and in the guides: each command line parses."""

import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from inspect import cleandoc
from pathlib import Path

import click
import pytest

from dray.cli.main import dray

_ROOT = Path(__file__).parents[2]
_IN_DOCUMENTS = re.compile(r"^(?:.+ \| )?(?:\.venv/bin/)?(dray .+)|`(dray [a-z][^`]*)`", re.MULTILINE)
_GUIDES = sorted((_ROOT / "docs" / "guide").glob("*.md"))
_DOCUMENTS = [_ROOT / "README.md", *(page for page in _GUIDES if _IN_DOCUMENTS.search(page.read_text()))]
_EXAMPLES = re.compile(r"^Examples?:\n((?:  +.+\n?)+)", re.MULTILINE)


def pages(command: click.Command, *path: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield a command and all commands below it, with the words that select each."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from pages(below, *path, name)


def examples(command: click.Command) -> list[str]:
    """Return the parts of the examples that run `dray`."""
    lines = "\n".join(_EXAMPLES.findall(cleandoc(command.help or ""))).replace("\\\n", "").splitlines()
    return [part.strip() for line in lines for part in line.split(" | ") if part.strip().startswith("dray ")]


def parse(line: str) -> None:
    """Parse a command line as the shell and `dray` do, without running it; raises `click.UsageError`."""
    command: click.Command = dray
    program, *words = shlex.split(line.partition(" < ")[0].removesuffix(" &"), comments=True)
    assert program == "dray"
    while isinstance(command, click.Group):
        if not words and command is not dray:
            return  # the text may name a group alone
        _, below, words = command.resolve_command(click.Context(command), words)
        assert below is not None
        command = below
    command.make_context(command.name, words)


PAGES = dict(pages(dray))
EXAMPLES = [(path, line) for path, command in PAGES.items() for line in examples(command)]


@pytest.mark.parametrize("line", sorted({line for _, line in EXAMPLES}))
def test_example_parses(line: str) -> None:
    parse(line)


@pytest.mark.parametrize("page", _DOCUMENTS, ids=lambda page: page.name)
def test_commands_in_documents_parse(page: Path) -> None:
    lines = [block or inline for block, inline in _IN_DOCUMENTS.findall(page.read_text())]
    assert lines
    for line in lines:
        with suppress(click.MissingParameter):  # the text may name a command alone
            parse(line)


@pytest.mark.parametrize("name", [path[0] for path in PAGES if len(path) == 1])
def test_every_command_but_version_has_an_example(name: str) -> None:
    assert any(path[0] == name for path, _ in EXAMPLES) or name == "version"


def test_joined_examples_do_not_parse() -> None:
    with pytest.raises(click.UsageError):
        parse("dray compactor --once dray compactor")
