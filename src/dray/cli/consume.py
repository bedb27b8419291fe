"""`dray consume`: records of a topic to lines of standard output."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import click

from dray.cli.client import Cluster
from dray.cli.client.reading import Chunk, Reading, Span
from dray.cli.connected import Contact, talks_to_brokers
from dray.cli.failure import Failure, WrongUse
from dray.cli.lines.json_line import show_json
from dray.cli.lines.pattern import Show, pattern
from dray.cli.output import until_reader_leaves
from dray.cli.progress import Progress
from dray.cli.starting_points import StartingPoint, ending_offsets, parse_starting_point, starting_offsets
from dray.cli.stopping import Stop, stop_on_signals
from dray.records import Record


@dataclass(frozen=True, slots=True)
class _Job:
    """What is to be read, and how it is shown."""

    topic: str
    start: StartingPoint
    partition: int | None
    records_max: int | None
    follow: bool
    show: Show
    stats: bool


class _StartingPoint(click.ParamType[StartingPoint]):
    """Where to begin."""

    name = "WHERE"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> StartingPoint:
        try:
            return parse_starting_point(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


@click.command
@click.argument("topic")
@click.option(
    "--from",
    "start",
    type=_StartingPoint(),
    default="earliest",
    show_default=True,
    help="Where to begin; see above.",
)
@click.option("--partition", type=click.IntRange(min=0), metavar="N", help="Read only this partition.")
@click.option("--max", "records_max", type=click.IntRange(min=1), metavar="N", help="End after N records.")
@click.option("--follow/--no-follow", default=True, help="Wait for new records, or end at the end.")
@click.option("--json", "as_json", is_flag=True, help="Show JSON objects with everything.")
@click.option("--format", "text", metavar="PATTERN", help="Show by a pattern; see above.")
@click.option("--keys", is_flag=True, help="Show the key too, and a tab behind it.")
@click.option("--headers", is_flag=True, help="Show the headers too, and a tab behind them.")
@click.option("--null-value", default="", metavar="TOKEN", help="How a null key or value is shown.")
@click.option("--stats", "--rate", is_flag=True, help="Tell the rate on standard error.")
@talks_to_brokers
def consume(
    contact: Contact,
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
    """Show the records of TOPIC, one a line: the value, unless asked for more.

    Partitions are read directly, without a consumer group; their records come as they arrive, in order within
    each partition. Ctrl-C ends.

    \b
    Examples:
      dray consume orders --from -10 --keys
      dray consume orders --from 2026-01-31T08:00Z --json | jq .value
      dray consume orders --no-follow --format '%p %o %t %k %v\\n'

    \b
    --from:
      earliest, latest, an OFFSET, -N for the last N of each partition, @MILLISECONDS since 1970, or a
      time in ISO 8601 (local, if it names no zone)

    \b
    --format:
      %p partition   %k key     %K its bytes   %h headers           %t time in ISO 8601
      %o offset      %v value   %V its bytes   %% a percent sign    %T time in milliseconds
      \\n \\t \\r \\0 \\\\ \\xHH; nothing is added at the end
    """
    if as_json and (text is not None or keys or headers or null_value):
        raise WrongUse("--json shows everything: no --format, --keys, --headers or --null-value with it")
    if text is not None and (keys or headers):
        raise WrongUse("--format says what is shown: no --keys or --headers with it")
    show = show_json if as_json else _pattern(text, null_value, keys=keys, headers=headers)
    contact.run(partial(_consume, job=_Job(topic, start, partition, records_max, follow, show, stats)))


def _pattern(text: str | None, null_value: str, *, keys: bool, headers: bool) -> Show:
    if text is None:
        text = (r"%h\t" if headers else "") + (r"%k\t" if keys else "") + r"%v\n"
    try:
        return pattern(text, null_value.encode())
    except ValueError as error:
        raise WrongUse(f"--format: {error}") from error


async def _consume(cluster: Cluster, job: _Job) -> None:
    with stop_on_signals() as stop:
        progress = Progress(cluster.parts.clock, "read")
        spans = await _spans(cluster, job)
        if job.stats:
            progress.start(cluster.parts.tasks)
        with until_reader_leaves(stop.ask):
            await _show_all(Reading(cluster, job.topic, spans, _warn), job, stop, progress)
        if job.stats:
            progress.finish()


async def _spans(cluster: Cluster, job: _Job) -> list[Span]:
    layout = await cluster.layout(job.topic)
    partitions = layout.partitions
    if job.partition is not None:
        if job.partition not in partitions:
            told = f"there is no partition {job.partition}; topic '{job.topic}' has {len(partitions)}"
            raise Failure(f"{told}, counted from 0")
        partitions = range(job.partition, job.partition + 1)
    ends = await ending_offsets(cluster, job.topic, partitions)
    starts = await starting_offsets(cluster, job.topic, ends, job.start)
    return [Span(number, starts[number], None if job.follow else ends[number]) for number in partitions]


async def _show_all(reading: Reading, job: _Job, stop: Stop, progress: Progress) -> None:
    out = sys.stdout.buffer
    reading.start()
    stop.then(reading.stop)
    while (chunk := await reading.next()) is not None:
        records = _wanted(chunk, job, progress)
        progress.count(len(records), _plain_bytes(records))
        for record in records:
            out.write(job.show(chunk.partition, record))
        out.flush()
        if progress.records == job.records_max:
            return


def _wanted(chunk: Chunk, job: _Job, progress: Progress) -> list[Record]:
    if job.records_max is None:
        return list(chunk.records)
    return list(chunk.records[: job.records_max - progress.records])


def _plain_bytes(records: Iterable[Record]) -> int:
    return sum(len(record.key or b"") + len(record.value or b"") for record in records)


def _warn(text: str) -> None:
    click.echo(f"dray: {text}", err=True)
