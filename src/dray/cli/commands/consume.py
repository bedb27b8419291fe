"""`dray consume`: records of a topic to lines of standard output."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import click

from dray.cli.broker_options import Connect, connects
from dray.cli.failure import WrongUse
from dray.cli.lines.json_lines import format_json
from dray.cli.lines.text_lines import Format, parse_pattern
from dray.cli.terminal.input import stop_requested_by_signals
from dray.cli.terminal.output import Progress, quiet_broken_pipe
from dray.cli.terminal.positions import STARTING_POINT
from dray.client import Admin, ConsumerRecord, RecordReader
from dray.client.positions import StartingPoint, read_ranges
from dray.runtime import SystemClock

_POLL_S: Final = 0.1


@dataclass(frozen=True, slots=True)
class _Job:
    """What to read, and how to print it."""

    topic: str
    start: StartingPoint
    partition: int | None
    records_max: int | None
    follow: bool
    format: Format
    stats: bool


@click.command
@click.argument("topic")
@click.option(
    "--from",
    "start",
    type=STARTING_POINT,
    default="earliest",
    show_default=True,
    help="Where to start; see above.",
)
@click.option("--partition", type=click.IntRange(min=0), metavar="N", help="Read only this partition.")
@click.option("--max", "records_max", type=click.IntRange(min=1), metavar="N", help="Exit after N records.")
@click.option(
    "--follow/--no-follow", default=True, help="Keep reading new records (--no-follow: exit at the end)."
)
@click.option("--json", "as_json", is_flag=True, help="Print records as JSON objects.")
@click.option("--format", "text", metavar="PATTERN", help="Print records by a pattern; see above.")
@click.option("--keys", is_flag=True, help="Print the key and a tab before the value.")
@click.option("--headers", is_flag=True, help="Print the headers and a tab first.")
@click.option("--null-value", default="", metavar="TOKEN", help="Print TOKEN for a null key or value.")
@click.option("--stats", "--rate", is_flag=True, help="Print throughput to standard error.")
@connects
def consume(
    connect: Connect,
    topic: str,
    *,
    start: StartingPoint,
    partition: int | None,
    records_max: int | None,
    follow: bool,
    as_json: bool,
    text: str | None,
    keys: bool,
    headers: bool,
    null_value: str,
    stats: bool,
) -> None:
    """Print the records of TOPIC, one value per line.

    Partitions are read directly, without a consumer group. Records are printed as they arrive, in order
    within each partition. Ctrl-C exits.

    \b
    Examples:
      dray consume orders --from -10 --keys
      dray consume orders --from 2026-01-31T08:00Z --json | jq .value
      dray consume orders --no-follow --format '%p %o %t %k %v\\n'

    \b
    --from:
      earliest, latest, an OFFSET, -N for the last N of each partition, @MILLISECONDS since 1970, or a
      time in ISO 8601 (local unless it has a zone)

    \b
    --format:
      %p partition   %k key     %K its bytes   %h headers           %t time in ISO 8601
      %o offset      %v value   %V its bytes   %% a percent sign    %T time in milliseconds
      \\n \\t \\r \\0 \\\\ \\xHH; nothing is appended
    """
    if as_json and (text is not None or keys or headers or null_value):
        raise WrongUse("--json prints everything: drop --format, --keys, --headers and --null-value")
    if text is not None and (keys or headers):
        raise WrongUse("--format decides what is printed: drop --keys and --headers")
    format_record = format_json if as_json else _pattern(text, null_value, keys=keys, headers=headers)
    _consume(connect(), _Job(topic, start, partition, records_max, follow, format_record, stats))


def _pattern(text: str | None, null_value: str, *, keys: bool, headers: bool) -> Format:
    if text is None:
        text = (r"%h\t" if headers else "") + (r"%k\t" if keys else "") + r"%v\n"
    try:
        return parse_pattern(text, null_value.encode())
    except ValueError as error:
        raise WrongUse(f"--format: {error}") from error


def _consume(admin: Admin, job: _Job) -> None:
    progress = Progress(SystemClock(), "read")
    ranges = read_ranges(admin, job.topic, job.partition, job.start, follow=job.follow)
    reader = RecordReader(admin.config, job.topic, ranges, _warn)
    try:
        with quiet_broken_pipe() as reader_left, stop_requested_by_signals() as stop:
            while not (reader.done or stop() or reader_left()):
                _print(reader.poll(_POLL_S), job, progress)
                if progress.records == job.records_max:
                    break
                if job.stats:
                    progress.report()
    finally:
        reader.close()
    if job.stats:
        progress.finish()


def _print(records: list[ConsumerRecord], job: _Job, progress: Progress) -> None:
    if job.records_max is not None:
        records = records[: job.records_max - progress.records]
    progress.records += len(records)
    progress.size_bytes += _size_bytes(records)
    out = sys.stdout.buffer
    for record in records:
        out.write(job.format(record))
    if records:
        out.flush()


def _size_bytes(records: Iterable[ConsumerRecord]) -> int:
    return sum(len(record.key or b"") + len(record.value or b"") for record in records)


def _warn(text: str) -> None:
    click.echo(f"dray: {text}", err=True)
