"""Backups of the metadata store, version 1: a stream of checksummed, compressed frames.

Values are opaque here. docs/formats/backup-v1.md is the full page.
"""

from dray.formats.backup_v1.layout import BackupHeader, BackupTotals, CorruptBackup, Record
from dray.formats.backup_v1.reader import Begun, Ended, FrameReader, Records
from dray.formats.backup_v1.writer import FrameWriter

__all__ = [
    "BackupHeader",
    "BackupTotals",
    "Begun",
    "CorruptBackup",
    "Ended",
    "FrameReader",
    "FrameWriter",
    "Record",
    "Records",
]
