"""The users of the matrix: each has one right, exactly and by prefix, or a few that are used together.

All rights of a user on topics, groups and transactional ids are about the same names: a literal ACL allows
`exact…`, a prefixed one `pre-…`, and a literal one denies `pre-denied` again. Nothing allows `other…`.
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias

from dray.acls import CLUSTER_NAME, Operation, PatternType, Permission, ResourceType
from dray.wire.apis.create_acls import AclCreation

ADMIN: Final = "admin"
"""The super user."""
STRANGER: Final = "not authenticated"
IMPOSTOR: Final = "wrong password"
REFUSED: Final = (STRANGER, IMPOSTOR)
"""Those that no request but the first few of a connection is served to."""
EXACT: Final = ("exact", "exact-missing", "exact-consumer")
PREFIX: Final = "pre-"
DENIED: Final = "pre-denied"

Right: TypeAlias = tuple[ResourceType, Operation]

_TOPIC, _GROUP, _CLUSTER = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER
_TRANSACTION: Final = ResourceType.TRANSACTIONAL_ID
_SINGLE: Final[Mapping[ResourceType, str]] = {
    _TOPIC: "READ WRITE CREATE DELETE ALTER DESCRIBE DESCRIBE_CONFIGS ALTER_CONFIGS",
    _GROUP: "READ DELETE DESCRIBE DESCRIBE_CONFIGS ALTER_CONFIGS",
    _CLUSTER: "CREATE DELETE ALTER DESCRIBE CLUSTER_ACTION DESCRIBE_CONFIGS ALTER_CONFIGS IDEMPOTENT_WRITE",
    _TRANSACTION: "WRITE DESCRIBE",
}
_TOGETHER: Final[Mapping[str, tuple[Right, ...]]] = {
    "no-ACL": (),
    "member": ((_GROUP, Operation.READ), (_TOPIC, Operation.READ)),
    "describer": ((_GROUP, Operation.DESCRIBE), (_TOPIC, Operation.DESCRIBE)),
    "eraser": ((_GROUP, Operation.DELETE), (_TOPIC, Operation.READ)),
    "creator": ((_TOPIC, Operation.CREATE), (_TOPIC, Operation.DESCRIBE)),
    "cluster-creator": ((_CLUSTER, Operation.CREATE), (_TOPIC, Operation.DESCRIBE)),
    "owner": tuple((kind, Operation.ALL) for kind in (_TOPIC, _GROUP, _TRANSACTION)),
    "cluster-owner": ((_CLUSTER, Operation.ALL),),
}
CLUSTER_DENIED: Final = "cluster-denied"
"""A user that may do everything with the cluster, by one ACL, and nothing, by another."""


class User(NamedTuple):
    """A user of the matrix."""

    name: str
    rights: tuple[Right, ...]

    def acls(self) -> Iterator[AclCreation]:
        for kind, operation in self.rights:
            if kind is _CLUSTER:
                yield self._acl(kind, CLUSTER_NAME, operation)
                continue
            for name in EXACT:
                yield self._acl(kind, name, operation)
            yield self._acl(kind, PREFIX, operation, PatternType.PREFIXED)
            yield self._acl(kind, DENIED, operation, permission=Permission.DENY)
        if self.name == CLUSTER_DENIED:
            yield self._acl(_CLUSTER, CLUSTER_NAME, Operation.ALL, permission=Permission.DENY)

    def _acl(
        self,
        kind: ResourceType,
        name: str,
        operation: Operation,
        pattern: PatternType = PatternType.LITERAL,
        permission: Permission = Permission.ALLOW,
    ) -> AclCreation:
        return AclCreation(
            resource_type=kind,
            resource_name=name,
            resource_pattern_type=pattern,
            principal=f"User:{self.name}",
            host="*",
            operation=operation,
            permission_type=permission,
        )


def _singles() -> Iterator[User]:
    for kind, operations in _SINGLE.items():
        for operation in operations.split():
            yield User(f"{kind.name}-{operation}", ((kind, Operation[operation]),))


USERS: Final = (
    *(User(name, rights) for name, rights in _TOGETHER.items()),
    User(CLUSTER_DENIED, ((_CLUSTER, Operation.ALL),)),
    *_singles(),
)
NAMES: Final = (*REFUSED, *(user.name for user in USERS), ADMIN)
"""All who send requests, in this order."""
