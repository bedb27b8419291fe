"""Sizes of the log's commits, cut to what the metadata store accepts. Pure.

A commit of WAL objects has two writes for each stream of an object (entry, head) and two for each object (its
record and its staging marker). Snapshots of producers take what is left of the writes, at least a few. So
streams wait for their snapshots where commits are full, the longest one first; a stream needs one in many
commits only. Staging markers are written ahead in one commit.
"""

import struct

import msgspec

from dray.index.batches import ROW_FORMAT
from dray.log.settings import LogSettings
from dray.meta.port import CommitLimits

_WRITES_PER_STREAM = 2
_WRITES_PER_OBJECT = 2
_SNAPSHOTS = 6
"""Space for these is left in every commit."""
_WRITES_PER_ENTRY = 3
"""Of a removed entry: itself, and the record and the marker of its object."""
_MARKER_BYTES = 512
"""More than a staging marker takes, with its key and its check."""
_ROWS_SHARE = 2
"""The rows of all batches may take half of a commit; keys, paths, heads and snapshots take the rest."""


def within(settings: LogSettings, limits: CommitLimits) -> LogSettings:
    """Return the settings, with so few streams, batches and markers that every commit fits."""
    streams = (limits.writes_max - _SNAPSHOTS - _WRITES_PER_OBJECT) // _WRITES_PER_STREAM
    batches = limits.bytes_max // (_ROWS_SHARE * struct.calcsize(ROW_FORMAT))
    markers = min(limits.checks_max, limits.writes_max, limits.bytes_max // _MARKER_BYTES)
    return msgspec.structs.replace(
        settings,
        staging_markers_ahead=max(1, min(settings.staging_markers_ahead, markers)),
        streams_per_object_max=max(1, min(settings.streams_per_object_max, streams)),
        batches_per_object_max=max(1, min(settings.batches_per_object_max, batches)),
    )


def writes_of(streams: int, *, objects: int) -> int:
    """Return the writes of a commit of these streams and objects, with space for snapshots."""
    return _WRITES_PER_STREAM * streams + _WRITES_PER_OBJECT * objects + _SNAPSHOTS


def entries_per_removal(limits: CommitLimits, most: int) -> int:
    """Return how many entries one commit may remove."""
    return max(1, min(most, limits.writes_max // _WRITES_PER_ENTRY))
