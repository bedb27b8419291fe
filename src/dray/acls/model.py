"""ACLs as values: a binding is a resource pattern with an entry that allows or denies.

The numbers of the enums are Kafka's, on the wire and in the metadata store. ANY and MATCH occur in filters
only. 0, Kafka's UNKNOWN, is not a value here: it stands for any number that a version does not know.
"""

from enum import IntEnum
from typing import Final

from msgspec import Struct

WILDCARD: Final = "*"
"""A literal pattern's name for all resources, and an entry's host for all hosts."""

WILDCARD_PRINCIPAL: Final = "User:*"
"""An entry's principal for all principals, also of other types than User."""

CLUSTER_NAME: Final = "kafka-cluster"
"""The name of the only resource of the type CLUSTER."""


class ResourceType(IntEnum):
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(IntEnum):
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class Operation(IntEnum):
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class Permission(IntEnum):
    ANY = 1
    DENY = 2
    ALLOW = 3


class ResourcePattern(Struct, frozen=True, order=True, array_like=True):
    """The resources that ACLs are about: one, all whose names begin with a prefix, or all of a type."""

    resource_type: ResourceType
    name: str
    pattern_type: PatternType = PatternType.LITERAL


class AclEntry(Struct, frozen=True, order=True, array_like=True):
    """A permission of a principal on a host. Both are kept as they were given, for filters."""

    principal: str
    host: str
    operation: Operation
    permission: Permission


class AclBinding(Struct, frozen=True, order=True):
    """An ACL: an entry, and what it is about."""

    pattern: ResourcePattern
    entry: AclEntry
