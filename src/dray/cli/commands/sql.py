"""`dray sql`: query topics with SQL."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from typing_extensions import override

from dray.cli.failure import Failure, WrongUse
from dray.cli.render.sql import json_lines, text_lines
from dray.cli.settings_options import STORE_FLAGS, takes_settings
from dray.index import CorruptValue
from dray.log import LogError
from dray.meta.port import MetaError
from dray.objects.port import ObjectError
from dray.runtime import LazyModule
from dray.server.access import cluster_access, storage_access
from dray.server.errors import require
from dray.server.store_urls import check_exist
from dray.settings import DraySettings, Loaded

if TYPE_CHECKING:
    from dray.sql import engine, results
else:  # DuckDB and Arrow, which may not be installed; checked before use
    engine = LazyModule("dray.sql.engine")
    results = LazyModule("dray.sql.results")

_MODULES: Final = ("duckdb", "numba", "numpy", "pyarrow")
_STDIN: Final = "-"
_COMMENT: Final = ("-- ", "--\n")


class _SqlCommand(click.Command):
    """Command that takes a query starting with a comment as an argument, not as an option."""

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
    help="Read the statements from a file, or from standard input if FILE is '-'.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per row and line.")
@takes_settings(STORE_FLAGS)
def sql(loaded: Loaded[DraySettings], query: str | None, *, file: str | None, as_json: bool) -> None:
    """Query topics with DuckDB's SQL.

    Every topic is a table with the columns partition, offset, timestamp, key, value and headers. A query sees
    all records acknowledged when it started, whether in Parquet files or not yet. It needs no broker and no
    Java, and cannot change a topic. Quote names such as "web.clicks", or write web_x2e_clicks as its Iceberg
    table is named; orders is also dray.orders. The column "offset" must be quoted, because OFFSET is a SQL
    keyword.

    Keys and values are bytes. utf8(value) converts them to text, or to NULL if they are not UTF-8;
    header(headers, 'name') returns the value of a header. Text output prints UTF-8 bytes as text and
    truncates long values. --json output is never truncated; bytes that are not UTF-8 are {"base64": "..."}.
    Times are UTC.

    \b
    Examples:
      dray sql 'SELECT partition, count(*) FROM orders GROUP BY ALL'
      dray sql "SELECT utf8(value)->>'$.city' AS city, count(*) FROM orders GROUP BY 1" --json
      dray sql --file report.sql --data-dir ./dray-data
      echo 'FROM "web.clicks" LIMIT 5' | dray sql -
    """
    text = _statements(query, file)
    check_exist(loaded.settings)
    require(_MODULES, "tables")
    try:
        _answer(loaded.settings, text, as_json=as_json)
    except results.SqlError as error:
        raise Failure(str(error)) from error
    except (MetaError, ObjectError, LogError, CorruptValue) as error:
        raise Failure(str(error)) from error


def _statements(query: str | None, file: str | None) -> str:
    if query is not None and file is not None:
        raise WrongUse("give either a query or --file, not both")
    source = _STDIN if query == _STDIN else file
    if source is None:
        if query is None:
            raise WrongUse("give a query, --file FILE, or '-' to read it from standard input")
        return _not_empty(query, "the query")
    if source == _STDIN:
        if sys.stdin.isatty():
            click.echo("reading SQL from the terminal; press Ctrl-D to run it", err=True)
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
        raise WrongUse(f"{what} contains no statement")
    return text


def _answer(settings: DraySettings, text: str, *, as_json: bool) -> None:
    shown = 0
    with engine.executing(cluster_access(settings), storage_access(settings), text) as answers:
        for result in answers:
            pages = results.pages(result)
            if as_json:
                lines = json_lines(result.columns, pages)
            else:
                lines = text_lines(result.columns, pages)
                if shown:
                    click.echo()
            shown += 1
            for line in lines:
                click.echo(line)
