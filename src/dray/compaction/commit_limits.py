"""Size of an index swap, cut to what the metadata store accepts in one commit. Pure.

A swap has three writes for each entry that it replaces (the entry, and record and marker of its object), two
for each file, of which there are at most as many as entries, and a few of its own.
"""

import msgspec

from dray.compaction.settings import CompactionSettings
from dray.meta.port import CommitLimits

_WRITES_PER_ENTRY = 3 + 2
_OTHER_WRITES = 8


def within(settings: CompactionSettings, limits: CommitLimits) -> CompactionSettings:
    """Return the settings, with jobs of so few entries that their swap fits into one commit."""
    entries = max(1, (min(limits.checks_max, limits.writes_max) - _OTHER_WRITES) // _WRITES_PER_ENTRY)
    return msgspec.structs.replace(
        settings,
        entries_per_file_max=min(settings.entries_per_file_max, entries),
        entries_per_job_max=min(settings.entries_per_job_max, entries),
    )
