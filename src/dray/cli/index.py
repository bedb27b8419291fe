"""`dray index`: look into the offset index, straight in the metadata store."""

import json
import re

import click

from dray.cli.failure import Failure, WrongUse
from dray.cli.index_pages import ShownIndex, as_text, read_index, stream_of
from dray.cli.index_pages import as_json as json_of
from dray.cli.inspection import look_into_metadata
from dray.cli.options import takes_settings
from dray.cli.settings import DraySettings, Loaded
from dray.ids import StreamId
from dray.index import CorruptValue
from dray.meta.port import MetaStore


@click.group
def index() -> None:
    """Look into the offset index.

    \b
    Example:
      dray index show orders 0
    """


class _Stream(click.ParamType[StreamId]):
    """A stream's id as it is shown."""

    name = "ID"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> StreamId:
        if not re.fullmatch(r"(0x)?[0-9A-Fa-f]{1,16}", str(value)):
            self.fail(f"expected up to 16 hexadecimal digits, got {value!r}", param, ctx)
        return StreamId(int(str(value), 16))


@index.command
@click.argument("topic", required=False)
@click.argument("partition", required=False, type=click.IntRange(min=0))
@click.option("--stream", type=_Stream(), help="A stream's id, in hexadecimal, instead of TOPIC PARTITION.")
@click.option(
    "--from", "offset", type=click.IntRange(min=0), default=0, metavar="OFFSET", help="Begin at this offset."
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    metavar="N",
    help="Show at most N entries.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@takes_settings
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
    """Show the head of a partition's stream and the entries that say where its records are.

    No broker is needed, and a running one is not disturbed.

    \b
    Examples:
      dray index show orders 0 --data-dir ./dray-data
      dray index show --stream 00c0ffee00c0ffee --from 1000 --limit 5
    """
    if (stream is None) != (topic is not None and partition is not None) or (stream is not None and topic):
        raise WrongUse("give either TOPIC and PARTITION or --stream ID")

    async def look(meta: MetaStore) -> ShownIndex:
        wanted = stream
        if wanted is None:
            assert topic is not None
            assert partition is not None
            wanted = await stream_of(meta, topic, partition)
        return await read_index(meta, wanted, offset, limit)

    try:
        found = look_into_metadata(loaded.settings, look)
    except CorruptValue as error:
        raise Failure(str(error)) from error
    click.echo(json.dumps(json_of(found), indent=2) if as_json else as_text(found))
