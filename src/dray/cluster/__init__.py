"""What the cluster agrees on: its identity, brokers and zones, topics and their configs."""

from dray.cluster.identity import ClusterIdentity, claim, find, new_cluster_id
from dray.cluster.identity_plan import (
    Contended,
    DomainsMismatch,
    HalfMissing,
    IdentityError,
    NewerFormat,
    OtherCluster,
    StoreNames,
    Unreadable,
)

__all__ = [
    "ClusterIdentity",
    "Contended",
    "DomainsMismatch",
    "HalfMissing",
    "IdentityError",
    "NewerFormat",
    "OtherCluster",
    "StoreNames",
    "Unreadable",
    "claim",
    "find",
    "new_cluster_id",
]
