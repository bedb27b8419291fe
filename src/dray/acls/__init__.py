"""Access control lists as Apache Kafka's StandardAuthorizer has them: values, filters, decisions. Pure."""

from dray.acls.authorizer import Authorizer
from dray.acls.filters import AclFilter, EntryFilter, PatternFilter
from dray.acls.hosts import canonical_host
from dray.acls.index import EMPTY_INDEX, AclIndex, Decision
from dray.acls.model import (
    CLUSTER_NAME,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclEntry,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
)
from dray.acls.operations import supported_operations
from dray.acls.principals import super_users
from dray.acls.validation import BindingCodes, FilterCodes, InvalidAcl, binding_of, filter_of

__all__ = [
    "CLUSTER_NAME",
    "EMPTY_INDEX",
    "WILDCARD",
    "WILDCARD_PRINCIPAL",
    "AclBinding",
    "AclEntry",
    "AclFilter",
    "AclIndex",
    "Authorizer",
    "BindingCodes",
    "Decision",
    "EntryFilter",
    "FilterCodes",
    "InvalidAcl",
    "Operation",
    "PatternFilter",
    "PatternType",
    "Permission",
    "ResourcePattern",
    "ResourceType",
    "binding_of",
    "canonical_host",
    "filter_of",
    "super_users",
    "supported_operations",
]
