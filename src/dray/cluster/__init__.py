"""Cluster-wide state: identity, brokers and zones, topics, groups' configs and producer ids."""

from dray.cluster.identity import ClusterIdentity, claim, find, new_cluster_id
from dray.cluster.identity_plan import (
    Contended,
    DomainsMismatch,
    HalfMissing,
    IdentityError,
    NewerFormat,
    OlderFormat,
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
    "OlderFormat",
    "OtherCluster",
    "StoreNames",
    "Unreadable",
    "claim",
    "find",
    "new_cluster_id",
]
