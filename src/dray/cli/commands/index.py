"""`dray index`: inspect the offset index in the metadata store."""

import json
import re

import click

from dray.cli.failure import Failure, WrongUse
from dray.cli.render.index import as_json as json_of
from dray.cli.render.index import as_text
from dray.cli.settings_options import METADATA_FLAGS, takes_settings
from dray.cli.terminal.params import Parsed
from dray.ids import StreamId
from dray.index import CorruptValue
from dray.meta.port import MetaStore
from dray.server.access import inspect_metadata
from dray.server.index_query import StreamIndex, read_index, stream_of
from dray.settings import DraySettings, Loaded


@click.group
def index() -> None:
    """Inspect the offset index.

    \b
    Example:
      dray index show orders 0
    """


def _parse_stream(text: str) -> StreamId:
    """Read a stream id as it is printed."""
    if not re.fullmatch(r"(0x)?[0-9A-Fa-f]{1,16}", text):
        raise ValueError(f"expected up to 16 hexadecimal digits, got {text!r}")
    return StreamId(int(text, 16))


@index.command
@click.argument("topic", required=False)
@click.argument("partition", required=False, type=click.IntRange(min=0))
@click.option(
    "--stream", type=Parsed("ID", _parse_stream), help="A hexadecimal stream id, instead of TOPIC PARTITION."
)
@click.option(
    "--from", "offset", type=click.IntRange(min=0), default=0, metavar="OFFSET", help="Start at this offset."
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    metavar="N",
    help="Print at most N entries.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@takes_settings(METADATA_FLAGS)
def show(
    loaded: Loaded[DraySettings],
    topic: str | None,
    partition: int | None,
    *,
    stream: StreamId | None,
    offset: int,
    limit: int,
    as_json: bool,
) -> None:
    """Show the index entries of a partition.

    They locate its records; the head of its stream has the offsets where the log starts and ends.
    No broker is needed, and running ones are not disturbed.

    \b
    Examples:
      dray index show orders 0 --data-dir ./dray-data
      dray index show --stream 00c0ffee00c0ffee --from 1000 --limit 5
    """
    if (stream is None) != (topic is not None and partition is not None) or (stream is not None and topic):
        raise WrongUse("give either TOPIC and PARTITION or --stream ID")

    async def read(meta: MetaStore) -> StreamIndex:
        wanted = stream
        if wanted is None:
            assert topic is not None
            assert partition is not None
            wanted = await stream_of(meta, topic, partition)
        return await read_index(meta, wanted, offset, limit)

    try:
        found = inspect_metadata(loaded.settings, read)
    except CorruptValue as error:
        raise Failure(str(error)) from error
    click.echo(json.dumps(json_of(found), indent=2) if as_json else as_text(found))
