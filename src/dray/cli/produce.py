"""`dray produce`: lines of standard input to records of a topic."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import click

from dray.cli.client import Cluster, Undelivered, UnknownTopic
from dray.cli.client.drafts import Draft, Sealed
from dray.cli.client.producer import ALL, Producer, ProducerSettings
from dray.cli.connected import Contact, talks_to_brokers
from dray.cli.failure import Failure, WrongUse
from dray.cli.input_lines import InputLines
from dray.cli.key_values import KeyValue
from dray.cli.lines.escapes import unescaped
from dray.cli.lines.json_line import read_json
from dray.cli.lines.plain import Headers, PlainLines, WrongLine
from dray.cli.progress import Progress
from dray.cli.stopping import stop_on_signals
from dray.records import Codec

Read = Callable[[int, bytes], Draft | None]

_ACKS = {"all": ALL, "-1": ALL, "1": 1, "0": 0}


@dataclass(frozen=True, slots=True)
class _Job:
    """What is to be produced, and how."""

    topic: str
    read: Read
    partition: int | None
    settings: ProducerSettings
    quiet: bool


@click.command
@click.argument("topic")
@click.option("--key-separator", metavar="TEXT", help=r"Lines are KEY TEXT VALUE; \t is a tab.")
@click.option("--null-value", metavar="TOKEN", help="A key or value that is just this is sent as null.")
@click.option(
    "--headers", "--header", type=KeyValue(), multiple=True, help="For every record. May be repeated."
)
@click.option("--json", "as_json", is_flag=True, help="Lines are JSON objects; see above.")
@click.option("--partition", type=click.IntRange(min=0), metavar="N", help="Send all to this partition.")
@click.option(
    "--codec",
    type=click.Choice([codec.name.lower() for codec in Codec]),
    default="none",
    show_default=True,
    help="How batches are compressed.",
)
@click.option(
    "--acks", type=click.Choice(list(_ACKS)), default="all", show_default=True, help="What to wait for."
)
@click.option(
    "--idempotent/--no-idempotent", default=None, help="Number batches, so that none is written twice."
)
@click.option(
    "--batch-bytes",
    type=click.IntRange(min=1),
    default=ProducerSettings().batch_bytes,
    show_default=True,
    metavar="N",
    help="How large a batch may grow.",
)
@click.option(
    "--linger-ms",
    type=click.IntRange(min=0),
    default=ProducerSettings().linger_ms,
    show_default=True,
    metavar="N",
    help="How long a batch waits for more records.",
)
@click.option("--quiet", "-q", is_flag=True, help="No progress and no summary.")
@talks_to_brokers
def produce(
    contact: Contact,
    topic: str,
    *,
    key_separator: str | None,
    null_value: str | None,
    headers: tuple[tuple[str, str], ...],
    as_json: bool,
    partition: int | None,
    codec: str,
    acks: str,
    idempotent: bool | None,
    batch_bytes: int,
    linger_ms: int,
    quiet: bool,
) -> None:
    """Send the lines of standard input to TOPIC, one record each.

    A record with a key goes to the partition that Kafka's own producer would choose. Ctrl-C sends what was
    read and ends. A topic that is not there is made, if the broker is set up to.

    \b
    Examples:
      echo hello | dray produce greetings
      dray produce orders --key-separator '\\t' --codec zstd < orders.tsv
      dray consume orders --no-follow --json | dray produce copy --json

    \b
    JSON lines:
      {"key": "k", "value": "v", "headers": {"h": "x"}, "timestamp": 1700000000000, "partition": 0}
    Only value is required, and may be null. Binary data goes in key_base64 and value_base64. Headers may
    also be a list of pairs. A key or value that is not text is sent as the JSON that it is.
    """
    settings = ProducerSettings(
        codec=Codec[codec.upper()],
        acks=_ACKS[acks],
        idempotent=_idempotent(idempotent, _ACKS[acks]),
        batch_bytes=batch_bytes,
        linger_ms=linger_ms,
    )
    read = _reader(key_separator, null_value, _headers(headers), as_json=as_json)
    contact.run(partial(_produce, job=_Job(topic, read, partition, settings, quiet)))


def _idempotent(asked: bool | None, acks: int) -> bool:
    if asked and acks != ALL:
        raise WrongUse("--idempotent needs --acks all")
    return acks == ALL if asked is None else asked


def _headers(given: tuple[tuple[str, str], ...]) -> Headers:
    return tuple((key, value.encode()) for key, value in given)


def _reader(key_separator: str | None, null_value: str | None, headers: Headers, *, as_json: bool) -> Read:
    if as_json:
        if key_separator is not None or null_value is not None:
            raise WrongUse(
                "--json lines say their keys and nulls themselves: no --key-separator, no --null-value"
            )
        return partial(read_json, headers=headers)
    if key_separator == "":
        raise WrongUse("--key-separator is empty")
    try:
        separator = None if key_separator is None else unescaped(key_separator)
    except ValueError as error:
        raise WrongUse(f"--key-separator: {error}") from error
    token = None if null_value is None else null_value.encode()
    return PlainLines(separator, token, headers).read


async def _produce(cluster: Cluster, job: _Job) -> None:
    with stop_on_signals() as stop:
        progress = Progress(cluster.parts.clock, "sent")
        source = InputLines(sys.stdin.buffer, cluster.parts.clock)
        stop.then(source.stop)
        producer = await _open(cluster, job, progress)
        if progress.on_terminal and not job.quiet:
            progress.start(cluster.parts.tasks)
        try:
            await _send(source, producer, job)
        finally:
            if not job.quiet:
                progress.finish()


async def _open(cluster: Cluster, job: _Job, progress: Progress) -> Producer:
    def delivered(batch: Sealed) -> None:
        progress.count(len(batch.lines), batch.plain_bytes)

    try:
        layout = await cluster.layout(job.topic, create=True)
    except UnknownTopic as error:
        told = f"there is no topic '{job.topic}', and the broker makes none by itself"
        raise Failure(f"{told}: dray topics create {job.topic}") from error
    return await Producer.open(cluster, layout, job.settings, delivered)


async def _send(source: InputLines, producer: Producer, job: _Job) -> None:
    """Send every line. One that is no record ends it, but what came before is sent."""
    wrong: WrongLine | Undelivered | None = None
    try:
        async for number, line in source.lines():
            draft = job.read(number, line)
            if draft is not None:
                await producer.add(draft, job.partition)
    except (WrongLine, Undelivered) as error:
        wrong = error
    await producer.flush()
    if wrong is not None:
        raise Failure(str(wrong))
