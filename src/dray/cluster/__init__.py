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
    RestoreUnfinished,
    StoreNames,
    Superseded,
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
    "RestoreUnfinished",
    "StoreNames",
    "Superseded",
    "Unreadable",
    "claim",
    "find",
    "new_cluster_id",
]
