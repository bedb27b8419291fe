"""`dray wal`: look into WAL objects."""

import json
from pathlib import Path

import click
from typing_extensions import Buffer

from dray.cli.failure import Failure
from dray.cli.inspection import look_into_storage
from dray.cli.options import takes_settings
from dray.cli.settings import DraySettings, Loaded
from dray.cli.wal_pages import as_json as json_of
from dray.cli.wal_pages import as_text, inspected
from dray.formats.wal_v1 import CorruptWal
from dray.objects.port import ObjectStore


@click.group
def wal() -> None:
    """Look into WAL objects.

    \b
    Example:
      dray wal inspect ./0123.wo --verify
    """


@wal.command
@click.argument("name", metavar="PATH|OBJECT")
@click.option("--verify", is_flag=True, help="Check every CRC, and that all records can be read.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@takes_settings
def inspect(loaded: Loaded[DraySettings], name: str, *, verify: bool, as_json: bool) -> None:
    """Show a WAL object: its header, the chunk of every stream, and their batches.

    A local file is read as it is; any other name is an object of the storage that the settings name.

    \b
    Examples:
      dray wal inspect ./0123.wo --verify
      dray index show orders 0 --json | jq -r '.entries[0].object' | xargs dray wal inspect
    """
    try:
        found = inspected(name, _bytes(name, loaded.settings), verify=verify)
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

    async def look(objects: ObjectStore) -> Buffer:
        try:
            return await objects.get(name)
        except ValueError as error:
            raise Failure(f"{name} is no file, and cannot be an object: {error}") from error

    return look_into_storage(settings, look)
