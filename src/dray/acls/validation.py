"""Bindings and filters from the numbers and texts of a request, with the checks and messages of Kafka 4.3.

Kafka does not check whether the type of resource has the operation, nor whether host or topic name are valid,
so neither does this.
"""

from enum import IntEnum
from typing import NamedTuple, TypeVar

from dray.acls.filters import AclFilter, EntryFilter, PatternFilter
from dray.acls.model import (
    CLUSTER_NAME,
    AclBinding,
    AclEntry,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
)

E = TypeVar("E", bound=IntEnum)
_FOR_FILTERS = (ResourceType.ANY, PatternType.ANY, PatternType.MATCH, Operation.ANY, Permission.ANY)


class InvalidAcl(Exception):
    """Kafka rejects this binding or filter as an invalid request; the message is Kafka's."""


class BindingCodes(NamedTuple):
    """A binding as it is on the wire."""

    resource_type: int
    name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission: int


class FilterCodes(NamedTuple):
    """A filter as it is on the wire."""

    resource_type: int
    name: str | None
    pattern_type: int
    principal: str | None
    host: str | None
    operation: int
    permission: int


def binding_of(codes: BindingCodes) -> AclBinding:
    """Return the binding to create; raises `InvalidAcl`."""
    if codes.resource_type == ResourceType.CLUSTER and codes.name != CLUSTER_NAME:
        raise InvalidAcl(f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}")
    if not codes.name:
        raise InvalidAcl("Invalid empty resource name")
    pattern = ResourcePattern(
        _concrete(ResourceType, codes.resource_type, "resourceType"),
        codes.name,
        _concrete(PatternType, codes.pattern_type, "patternType"),
    )
    operation = _concrete(Operation, codes.operation, "operation")
    permission = _concrete(Permission, codes.permission, "permissionType")
    if ":" not in codes.principal:
        raise InvalidAcl(
            f"Could not parse principal from `{codes.principal}` (no colon is present separating the "
            "principal type from the principal name)"
        )
    return AclBinding(pattern, AclEntry(codes.principal, codes.host, operation, permission))


def filter_of(codes: FilterCodes) -> AclFilter:
    """Return the filter; raises `InvalidAcl` for numbers that have no meaning."""
    try:
        resource_type, pattern_type = ResourceType(codes.resource_type), PatternType(codes.pattern_type)
    except ValueError:
        raise InvalidAcl("Unknown patternFilter.") from None
    try:
        operation, permission = Operation(codes.operation), Permission(codes.permission)
    except ValueError:
        raise InvalidAcl("Unknown entryFilter.") from None
    return AclFilter(
        PatternFilter(resource_type, codes.name, pattern_type),
        EntryFilter(codes.principal, codes.host, operation, permission),
    )


def _concrete(kind: type[E], code: int, what: str) -> E:
    try:
        value = kind(code)
    except ValueError:
        raise InvalidAcl(f"Invalid {what} UNKNOWN") from None
    if any(value is one for one in _FOR_FILTERS):
        raise InvalidAcl(f"Invalid {what} {value.name}")
    return value
