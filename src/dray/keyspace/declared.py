"""All key families of the metadata store."""

from typing import Final

from dray.keyspace import cluster, groups, log

KEY_FAMILIES: Final = (*cluster.FAMILIES, *log.FAMILIES, *groups.FAMILIES)
