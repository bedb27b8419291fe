"""`dray metadata`: backups of the metadata store."""

import json
import sys

import click

from dray.backup.places import BackupSource
from dray.backup.verify import VerifyReport
from dray.backup.verify import verify as verify_backup
from dray.cli.failure import Failure
from dray.cli.render.metadata import report_json, report_text, restored_text, saved_text
from dray.cli.settings_options import STORAGE_FLAGS, STORE_FLAGS, takes_settings
from dray.cli.terminal.output import Progress
from dray.formats.backup_v1 import BackupHeader, BackupTotals
from dray.runtime import SystemClock
from dray.server import metadata_backups
from dray.settings import DraySettings, Loaded

_PLACE = "PATH|objects:NAME"


@click.group
def metadata() -> None:
    """Back up, restore and verify the metadata.

    A backup holds everything in the metadata store except what ends with its process. It is restored into any
    kind of store, so this is also the way from SQLite to etcd or Oxia. The objects are not part of it.

    \b
    Example:
      dray metadata backup --to metadata.backup
    """


@metadata.command
@click.option(
    "--to", required=True, metavar="PATH|objects", help="A new file, or 'objects' for the object store."
)
@takes_settings(STORE_FLAGS)
def backup(loaded: Loaded[DraySettings], to: str) -> None:
    """Save the metadata to a file or to the object store.

    Brokers may be running; the backup shows one moment of it. With SQLite and a bucket they save the metadata
    by themselves (metadata.backup_interval_ms).

    \b
    Examples:
      dray metadata backup --to metadata.backup --data-dir ./dray-data
      dray metadata backup --to objects --metadata etcd://host:2379/dray --storage s3://bucket/dray
    """
    progress = _progress("saved")
    saved = metadata_backups.back_up(loaded.settings, to, progress.add)
    progress.finish()
    click.echo(saved_text(saved))


@metadata.command
@click.option(
    "--from",
    "source",
    required=True,
    metavar=f"{_PLACE}",
    help="A file, a backup in the object store, or 'objects' for the newest one there.",
)
@takes_settings(STORE_FLAGS)
def restore(loaded: Loaded[DraySettings], source: str) -> None:
    """Restore the metadata into an empty metadata store.

    Stop all brokers and compactors first, also those on the store that was saved: it is superseded, and they
    refuse it from then on. Everything that was acknowledged after the backup is lost. If the restore is
    interrupted, run it again.

    \b
    Examples:
      dray metadata restore --from objects --metadata sqlite:./metadata.sqlite --storage s3://bucket/dray
      dray metadata restore --from metadata.backup --metadata etcd://host:2379/dray --storage s3://bucket/dray
    """
    progress = _progress("restored")

    def begin(header: BackupHeader, totals: BackupTotals) -> None:
        click.echo(f"restoring backup {header.backup_id}: {totals.records:,} keys", err=True)

    restored = metadata_backups.restore(loaded.settings, source, begin, progress.add, _skipped)
    progress.finish()
    click.echo(restored_text(restored, loaded.settings.metadata.url))


@metadata.command
@click.argument("source", metavar=_PLACE)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@takes_settings(STORAGE_FLAGS)
def verify(loaded: Loaded[DraySettings], source: str, *, as_json: bool) -> None:
    """Check a backup: its checksums, and every key and value in it.

    'objects' is the newest one in the object store.

    \b
    Examples:
      dray metadata verify metadata.backup
      dray metadata verify objects --storage s3://bucket/dray
    """
    progress = _progress("checked")

    async def check(found: BackupSource) -> VerifyReport:
        return await verify_backup(found, progress.add)

    report = metadata_backups.with_source(loaded.settings, source, check, _skipped)
    progress.finish()
    click.echo(json.dumps(report_json(report), indent=2) if as_json else report_text(report))
    if report.problem_count:
        raise Failure(f"{report.problem_count} keys or values are wrong")


def _progress(verb: str) -> Progress:
    return Progress(SystemClock(), verb, "key")


def _skipped(reason: str) -> None:
    click.echo(f"dray: {reason}; trying the one before", err=True)
    sys.stderr.flush()
