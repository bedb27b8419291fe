"""`dray wal`: inspect WAL objects."""

import json
from pathlib import Path

import click
from typing_extensions import Buffer

from dray.cli.failure import Failure
from dray.cli.render.wal import as_json as json_of
from dray.cli.render.wal import as_text
from dray.cli.settings_options import STORAGE_FLAGS, takes_settings
from dray.formats.wal_v1 import CorruptWal
from dray.objects.port import ObjectStore
from dray.server.access import inspect_storage
from dray.server.wal_query import inspect_wal
from dray.settings import DraySettings, Loaded


@click.group
def wal() -> None:
    """Inspect WAL objects.

    \b
    Example:
      dray wal inspect ./0123.wo --verify
    """


@wal.command
@click.argument("name", metavar="PATH|OBJECT")
@click.option("--verify", is_flag=True, help="Check every CRC and decode all records.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@takes_settings(STORAGE_FLAGS)
def inspect(loaded: Loaded[DraySettings], name: str, *, verify: bool, as_json: bool) -> None:
    """Show the header and the chunks of a WAL object.

    The chunk of a stream is shown with its batches. A path of a local file is read directly; any other name
    is an object in --storage.

    \b
    Examples:
      dray wal inspect ./0123.wo --verify
      dray index show orders 0 --json | jq -r '.entries[0].object' | xargs dray wal inspect
    """
    try:
        found = inspect_wal(name, _bytes(name, loaded.settings), verify=verify)
    except CorruptWal as error:
        raise Failure(str(error)) from error
    click.echo(json.dumps(json_of(found), indent=2) if as_json else as_text(found))


def _bytes(name: str, settings: DraySettings) -> Buffer:
    path = Path(name)
    if path.is_file():
        try:
            return path.read_bytes()
        except OSError as error:
            raise Failure(f"cannot read {name}: {error.strerror}") from error

    async def read(objects: ObjectStore) -> Buffer:
        try:
            return await objects.get(name)
        except ValueError as error:
            raise Failure(f"{name} is not a file, and not a valid object name: {error}") from error

    return inspect_storage(settings, read)
