"""Verification of a backup: its checksums, and every key and value by the family that it belongs to."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

import msgspec

from dray.backup.places import BackupSource
from dray.backup.reading import parts_of, saved_cluster
from dray.backup.save import Progress
from dray.backup.value_types import require_decodable
from dray.cluster.identity_plan import ClusterRecord
from dray.formats.backup_v1 import BackupHeader, Begun, Records
from dray.keyspace import KeyFamily
from dray.keyspace.matching import family_of, lives_in, matches

_PROBLEMS_MAX: Final = 100
"""Problems that are described; all are counted."""


@dataclass(slots=True)
class VerifyReport:
    """What a backup contains."""

    header: BackupHeader
    cluster: ClusterRecord
    families: Counter[str] = field(default_factory=Counter)
    """Keys by family, by its path."""
    family_bytes: Counter[str] = field(default_factory=Counter)
    """Bytes of their values."""
    problem_count: int = 0
    problems: list[str] = field(default_factory=list)

    def add_problem(self, text: str) -> None:
        self.problem_count += 1
        if len(self.problems) < _PROBLEMS_MAX:
            self.problems.append(text)


async def verify(source: BackupSource, progress: Progress = lambda _records, _bytes: None) -> VerifyReport:
    """Check a backup; raises `CorruptBackup` or `BackupMissing`, and reports wrong keys and values."""
    report: VerifyReport | None = None
    async for part in parts_of(source):
        if isinstance(part, Begun):
            report = VerifyReport(part.header, saved_cluster(part.header))
        elif isinstance(part, Records):
            assert report is not None
            _check(part, report)
            progress(len(part.records), sum(len(record.value) for record in part.records))
    assert report is not None
    return report


def _check(part: Records, report: VerifyReport) -> None:
    likely: KeyFamily | None = None  # neighbors are often of the same family
    for key, value in part.records:
        if likely is None or not matches(likely, key):
            likely = family_of(key)
        if likely is None:
            report.add_problem(f"{key}: this Dray knows no such key")
            continue
        report.families[likely.path] += 1
        report.family_bytes[likely.path] += len(value)
        if not lives_in(likely, part.domain):
            report.add_problem(f"{key}: it is in domain {part.domain}, it belongs to {likely.scope}")
        try:
            require_decodable(likely, value)
        except msgspec.DecodeError as error:
            report.add_problem(f"{key}: its value is not one of {' or '.join(likely.values)}: {error}")
