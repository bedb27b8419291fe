"""Errors of backups and restores, sorted by what the operator must do.

    BackupError
    ├── NothingToSave      the store holds no cluster, or a restore that is not complete
    ├── BackupMissing      there is no such backup, or none that is complete
    ├── TargetNotEmpty     restore into another store
    ├── WrongBucket        use the object store that belongs to the metadata
    ├── RestoreTakenOver   another restore into the same store has begun
    └── TornBackup         the backup could not be read at consistent moments; try again

A damaged backup is `formats.backup_v1.CorruptBackup`.
"""


class BackupError(Exception):
    """A backup or restore failed; the message says what to do."""


class NothingToSave(BackupError):
    """The metadata store holds no cluster that could be saved."""


class BackupMissing(BackupError):
    """There is no backup at the place that was named."""


class TargetNotEmpty(BackupError):
    """The metadata store to restore into holds a cluster or something else."""


class WrongBucket(BackupError):
    """The object store does not belong to the cluster in the backup."""


class RestoreTakenOver(BackupError):
    """Another restore into the same store has begun."""


class TornBackup(BackupError):
    """Domains were read at moments that do not fit together."""
