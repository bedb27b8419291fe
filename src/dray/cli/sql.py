"""`dray sql`: ask topics as tables."""

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from typing_extensions import override

from dray.cli.access import cluster_access, storage_access
from dray.cli.failure import Failure, WrongUse
from dray.cli.inspection import check_there
from dray.cli.options import takes_settings
from dray.cli.settings import DraySettings, Loaded
from dray.cli.sql_pages import json_lines, text_lines
from dray.index import CorruptValue
from dray.log import LogError
from dray.meta.port import MetaError
from dray.objects.port import ObjectError
from dray.runtime import LazyModule

if TYPE_CHECKING:
    from dray.pipeline.sql import engine, errors, rows
else:  # DuckDB and Arrow; they may be missing, which is told before
    engine = LazyModule("dray.pipeline.sql.engine")
    errors = LazyModule("dray.pipeline.sql.errors")
    rows = LazyModule("dray.pipeline.sql.rows")

_MODULES: Final = ("duckdb", "numba", "numpy", "pyarrow")
_STDIN: Final = "-"
_COMMENT: Final = ("-- ", "--\n")


class _SqlCommand(click.Command):
    """Takes a query that begins with a comment for what it is, not for an option."""

    @override
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, [f" {arg}" if arg.startswith(_COMMENT) else arg for arg in args])


@click.command(cls=_SqlCommand)
@click.argument("query", required=False)
@click.option(
    "--file",
    "file",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Read the statements from a file, or from standard input if it is '-'.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object for each row, on a line of its own."
)
@takes_settings
def sql(loaded: Loaded[DraySettings], query: str | None, *, file: str | None, as_json: bool) -> None:
    """Ask topics as tables, in DuckDB's SQL.

    Every topic is a table with the columns partition, offset, timestamp, key, value and headers, and all rows
    are there that were acknowledged when the query began: those in Parquet files and those that are not yet.
    No broker and no Java is needed, and no topic can be changed. A topic such as web.clicks is called
    "web.clicks" in quotes, or web_x2e_clicks as its Iceberg table is; orders may be called dray.orders too.
    SQL has a word of its own for offset, so that column is written "offset".

    Keys and values are bytes: utf8(value) makes text of them, or nothing where they are none, and
    header(headers, 'name') finds a header. Shown as a table, bytes that are UTF-8 are text and long values
    are cut. With --json nothing is cut, and bytes that are not UTF-8 are {"base64": "..."}. Times are UTC.

    \b
    Examples:
      dray sql 'SELECT partition, count(*) FROM orders GROUP BY ALL'
      dray sql "SELECT utf8(value)->>'$.city' AS city, count(*) FROM orders GROUP BY 1" --json
      dray sql --file report.sql --data-dir ./dray-data
      echo 'FROM "web.clicks" LIMIT 5' | dray sql -
    """
    text = _statements(query, file)
    check_there(loaded.settings)
    _check_needs()
    try:
        _answer(loaded.settings, text, as_json=as_json)
    except errors.SqlError as error:
        raise Failure(str(error)) from error
    except (MetaError, ObjectError, LogError, CorruptValue) as error:
        raise Failure(str(error)) from error


def _statements(query: str | None, file: str | None) -> str:
    if query is not None and file is not None:
        raise WrongUse("give a query or --file, not both")
    source = _STDIN if query == _STDIN else file
    if source is None:
        if query is None:
            raise WrongUse("give a query, --file FILE, or '-' to read it from standard input")
        return _not_empty(query, "the query")
    if source == _STDIN:
        if sys.stdin.isatty():
            click.echo("reading SQL from the terminal; Ctrl-D ends it", err=True)
        return _not_empty(_decoded(sys.stdin.buffer.read(), "standard input"), "standard input")
    try:
        return _not_empty(_decoded(Path(source).read_bytes(), source), source)
    except OSError as error:
        raise WrongUse(f"cannot read {source}: {error.strerror}") from error


def _decoded(data: bytes, what: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise WrongUse(f"{what} is not UTF-8: {error}") from error


def _not_empty(text: str, what: str) -> str:
    if not text.strip():
        raise WrongUse(f"there is no statement in {what}")
    return text


def _check_needs() -> None:
    missing = [name for name in _MODULES if find_spec(name) is None]
    if missing:
        raise WrongUse(f"this needs {', '.join(missing)}: pip install 'dray[tables]'")


def _answer(settings: DraySettings, text: str, *, as_json: bool) -> None:
    shown = 0
    with engine.answering(cluster_access(settings), storage_access(settings), text) as results:
        for result in results:
            pages = rows.pages(result)
            if as_json:
                lines = json_lines(result.columns, pages)
            else:
                lines = text_lines(result.columns, pages)
                if shown:
                    click.echo()
            shown += 1
            for line in lines:
                click.echo(line)
