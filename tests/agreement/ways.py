"""Comparisons of readers, with the number of records for a full run."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from tests.agreement import backfill, cluster, embedded


class Way(NamedTuple):
    """A comparison and its number of records in a full run."""

    agree: Callable[[Path, int, Callable[[str], None]], None]
    records: int


WAYS: Final[Mapping[str, Way]] = {
    "embedded": Way(embedded.agree, 1_000_000),
    "cluster": Way(cluster.agree, 1_000_000),
    "backfill": Way(backfill.agree, 10_000_000),
}
