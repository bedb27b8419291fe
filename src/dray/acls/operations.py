"""Operations of a type of resource, and those that an ACL entry covers, as bit fields.

The bit of an operation is its code, as in the authorized operations of Kafka's responses.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from dray.acls.model import AclEntry, Operation, Permission, ResourceType


def bit_field(operations: Iterable[Operation]) -> int:
    return sum(1 << operation for operation in set(operations))


_SUPPORTED: Final[Mapping[ResourceType, int]] = {
    ResourceType.TOPIC: bit_field(
        (
            Operation.READ,
            Operation.WRITE,
            Operation.CREATE,
            Operation.DELETE,
            Operation.ALTER,
            Operation.DESCRIBE,
            Operation.DESCRIBE_CONFIGS,
            Operation.ALTER_CONFIGS,
        )
    ),
    ResourceType.GROUP: bit_field(
        (
            Operation.READ,
            Operation.DELETE,
            Operation.DESCRIBE,
            Operation.DESCRIBE_CONFIGS,
            Operation.ALTER_CONFIGS,
        )
    ),
    ResourceType.CLUSTER: bit_field(
        (
            Operation.CREATE,
            Operation.ALTER,
            Operation.DESCRIBE,
            Operation.CLUSTER_ACTION,
            Operation.DESCRIBE_CONFIGS,
            Operation.ALTER_CONFIGS,
            Operation.IDEMPOTENT_WRITE,
        )
    ),
    ResourceType.TRANSACTIONAL_ID: bit_field(
        (Operation.WRITE, Operation.DESCRIBE, Operation.TWO_PHASE_COMMIT)
    ),
    ResourceType.DELEGATION_TOKEN: bit_field((Operation.DESCRIBE,)),
    ResourceType.USER: bit_field((Operation.CREATE_TOKENS, Operation.DESCRIBE_TOKENS)),
}
_ALL: Final = bit_field(operation for operation in Operation if operation is not Operation.ANY)
_IMPLIED: Final[Mapping[Operation, Operation]] = {
    Operation.READ: Operation.DESCRIBE,
    Operation.WRITE: Operation.DESCRIBE,
    Operation.DELETE: Operation.DESCRIBE,
    Operation.ALTER: Operation.DESCRIBE,
    Operation.ALTER_CONFIGS: Operation.DESCRIBE_CONFIGS,
}


def supported_operations(resource_type: ResourceType) -> int:
    """Return the operations that resources of the type have."""
    return _SUPPORTED[resource_type]


def covered_operations(entry: AclEntry) -> int:
    """Return the operations that the entry allows or denies; only what is allowed implies others."""
    if entry.operation is Operation.ALL:
        return _ALL
    covered = bit_field((entry.operation,))
    if entry.permission is Permission.ALLOW and entry.operation in _IMPLIED:
        covered |= bit_field((_IMPLIED[entry.operation],))
    return covered
