"""Reading of backups: the frames of a source, in order."""

from collections.abc import AsyncIterator

from dray.backup.errors import BackupError
from dray.backup.places import BackupSource
from dray.cluster.identity_plan import ClusterRecord, IdentityError, decode_identity
from dray.formats.backup_v1 import BackupHeader, BackupTotals, Begun, Ended, FrameReader, Record, Records
from dray.ids import Domain


async def read_through(source: BackupSource) -> tuple[BackupHeader, BackupTotals]:
    """Read a whole backup; raises `CorruptBackup` or `BackupMissing`."""
    header: BackupHeader | None = None
    totals: BackupTotals | None = None
    async for part in parts_of(source):
        if isinstance(part, Begun):
            header = part.header
        elif isinstance(part, Ended):
            totals = part.totals
    assert header is not None
    assert totals is not None
    return header, totals


async def parts_of(source: BackupSource) -> AsyncIterator[Begun | Records | Ended]:
    """Yield the frames of a backup, from the header to the end."""
    reader = FrameReader(source.name)
    async for piece in source.pieces():
        for part in reader.feed(piece):
            yield part
    reader.finish()


def saved_cluster(header: BackupHeader) -> ClusterRecord:
    """Return the cluster that was saved."""
    try:
        return decode_identity(header.cluster, ClusterRecord, "its cluster record")
    except IdentityError as error:
        raise BackupError(
            f"backup {header.backup_id} was made by Dray {header.version}, in a format that this one does not"
            f" know ({error}): restore it with that version"
        ) from error


async def records_of(source: BackupSource) -> AsyncIterator[tuple[Domain, list[Record]]]:
    async for part in parts_of(source):
        if isinstance(part, Records):
            yield Domain(part.domain), part.records
