"""How the processes of a query reach the cluster, and the options that say nothing about that."""

from collections.abc import Mapping
from dataclasses import dataclass

from dray.pipeline.access import ClusterAccess
from dray.pipeline.blocking import StorageAccess


@dataclass(frozen=True, slots=True)
class Connection:
    """Travels by pickle to every process of a query."""

    cluster: ClusterAccess
    storage: StorageAccess
    options: Mapping[str, str]
    """What is left for the reader or the writer."""
