"""`dray produce`: lines of standard input to records of a topic."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

import click

from dray.cli.broker_options import Connect, connects
from dray.cli.failure import Failure, WrongUse
from dray.cli.lines.json_lines import read_json
from dray.cli.lines.text_lines import Headers, InvalidLine, TextLines, unescape
from dray.cli.terminal.input import read_lines, stop_requested_by_signals
from dray.cli.terminal.output import Progress
from dray.cli.terminal.params import KEY_VALUE
from dray.client import Admin, Producer, ProducerRecord, ProducerSettings, Undelivered, UnknownTopic
from dray.client.producer import ALL_REPLICAS
from dray.client.topics import ensure_topic
from dray.runtime import SystemClock

Read = Callable[[int, bytes], ProducerRecord | None]

_ACKS: Final = {"all": ALL_REPLICAS, "-1": ALL_REPLICAS, "1": 1, "0": 0}
_REPORT_LINES: Final = 1000
_CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")


@dataclass(frozen=True, slots=True)
class _Job:
    """What to produce, and how."""

    topic: str
    read: Read
    partition: int | None
    settings: ProducerSettings
    quiet: bool


@click.command
@click.argument("topic")
@click.option("--key-separator", metavar="TEXT", help=r"Split lines into key and value at TEXT; \t is a tab.")
@click.option("--null-value", metavar="TOKEN", help="Send a key or value equal to TOKEN as null.")
@click.option(
    "--headers",
    "--header",
    type=KEY_VALUE,
    multiple=True,
    help="Add a header to every record. May be repeated.",
)
@click.option("--json", "as_json", is_flag=True, help="Read JSON lines; see above.")
@click.option(
    "--partition",
    type=click.IntRange(min=0),
    metavar="N",
    help="Default partition for records that do not name one.",
)
@click.option(
    "--codec", type=click.Choice(_CODECS), default="none", show_default=True, help="Compression of batches."
)
@click.option(
    "--acks",
    type=click.Choice(list(_ACKS)),
    default="all",
    show_default=True,
    help="Acknowledgements to wait for.",
)
@click.option(
    "--idempotent/--no-idempotent",
    default=None,
    help="Let brokers discard duplicate batches after retries; the default with --acks all.",
)
@click.option(
    "--batch-bytes",
    type=click.IntRange(min=1, max=(1 << 31) - 1),
    default=ProducerSettings().batch_bytes,
    show_default=True,
    metavar="N",
    help="Maximum size of a batch.",
)
@click.option(
    "--linger-ms",
    type=click.IntRange(min=0, max=900_000),
    default=ProducerSettings().linger_ms,
    show_default=True,
    metavar="N",
    help="How long a batch waits for more records.",
)
@click.option("--quiet", "-q", is_flag=True, help="Print no progress and no summary.")
@connects
def produce(
    connect: Connect,
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
    """Send each line of standard input to TOPIC as a record.

    Records with keys go to the partitions Kafka's own producer would choose. Ctrl-C sends what has been read
    and exits. A missing topic is created if the broker allows it.

    \b
    Examples:
      echo hello | dray produce greetings
      dray produce orders --key-separator '\\t' --codec zstd < orders.tsv
      dray consume orders --no-follow --json | dray produce copy --json

    \b
    JSON lines:
      {"key": "k", "value": "v", "headers": {"h": "x"}, "timestamp": 1700000000000, "partition": 0}

    Only "value" is required; it may be null. Put binary data in "key_base64" and "value_base64". Headers may
    also be a list of pairs. A key or value that is not text is sent as its JSON.
    """
    settings = ProducerSettings(
        codec=codec,
        acks=_ACKS[acks],
        idempotent=_idempotent(idempotent, _ACKS[acks]),
        batch_bytes=batch_bytes,
        linger_ms=linger_ms,
    )
    read = _reader(key_separator, null_value, _headers(headers), as_json=as_json)
    _produce(connect(), _Job(topic, read, partition, settings, quiet))


def _idempotent(wanted: bool | None, acks: int) -> bool:
    if wanted and acks != ALL_REPLICAS:
        raise WrongUse("--idempotent needs --acks all")
    return acks == ALL_REPLICAS if wanted is None else wanted


def _headers(given: tuple[tuple[str, str], ...]) -> Headers:
    return tuple((key, value.encode()) for key, value in given)


def _reader(key_separator: str | None, null_value: str | None, headers: Headers, *, as_json: bool) -> Read:
    if as_json:
        if key_separator is not None or null_value is not None:
            raise WrongUse(
                "--json lines have their own keys and nulls: drop --key-separator and --null-value"
            )
        return partial(read_json, headers=headers)
    if key_separator == "":
        raise WrongUse("--key-separator is empty")
    try:
        separator = None if key_separator is None else unescape(key_separator)
    except ValueError as error:
        raise WrongUse(f"--key-separator: {error}") from error
    token = None if null_value is None else null_value.encode()
    return TextLines(separator, token, headers).read


def _produce(admin: Admin, job: _Job) -> None:
    progress = Progress(SystemClock(), "sent")
    try:
        partitions = ensure_topic(admin, job.topic)
    except UnknownTopic as error:
        problem = f"there is no topic '{job.topic}', and the broker does not create topics automatically"
        raise Failure(f"{problem}: dray topics create {job.topic}") from error
    producer = Producer(admin.config, job.topic, partitions, job.settings)
    try:
        _send(producer, job, progress)
    finally:
        if not job.quiet:
            progress.records, progress.size_bytes = producer.acknowledged
            progress.finish()


def _send(producer: Producer, job: _Job, progress: Progress) -> None:
    """Send every line. An invalid one ends it, but what came before is sent."""
    shows_progress = progress.on_terminal and not job.quiet
    invalid: InvalidLine | Undelivered | None = None

    def report() -> None:
        if shows_progress:
            progress.records, progress.size_bytes = producer.acknowledged
            progress.report()

    def pause() -> None:
        producer.pause()
        report()

    with stop_requested_by_signals() as stop:
        try:
            for number, line in read_lines(sys.stdin.buffer, stop, pause):
                record = job.read(number, line)
                if record is not None:
                    producer.send(record, job.partition)
                if shows_progress and number % _REPORT_LINES == 0:
                    report()
        except (InvalidLine, Undelivered) as error:
            invalid = error
        producer.flush()
    if invalid is not None:
        raise Failure(str(invalid))
