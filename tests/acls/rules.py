"""The rules of ACLs as Kafka's documentation states them, applied by a scan of all ACLs.

Written with plain texts and without the package under test.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple


class Acl(NamedTuple):
    """An ACL in words."""

    resource_type: str
    pattern_type: str
    name: str
    principal: str
    host: str
    operation: str
    permission: str


class Question(NamedTuple):
    """A request to decide about."""

    principal: str
    host: str
    operation: str
    resource_type: str
    name: str


class Rules(NamedTuple):
    """What decides."""

    acls: tuple[Acl, ...]
    super_users: frozenset[str]
    allow_without_acls: bool


IMPLIED_BY: Final = {
    "DESCRIBE": {"READ", "WRITE", "DELETE", "ALTER"},
    "DESCRIBE_CONFIGS": {"ALTER_CONFIGS"},
}
OPERATIONS_OF: Final = {
    "TOPIC": "READ WRITE CREATE DELETE ALTER DESCRIBE DESCRIBE_CONFIGS ALTER_CONFIGS",
    "GROUP": "READ DELETE DESCRIBE DESCRIBE_CONFIGS ALTER_CONFIGS",
    "CLUSTER": "CREATE ALTER DESCRIBE CLUSTER_ACTION DESCRIBE_CONFIGS ALTER_CONFIGS IDEMPOTENT_WRITE",
    "TRANSACTIONAL_ID": "WRITE DESCRIBE TWO_PHASE_COMMIT",
    "DELEGATION_TOKEN": "DESCRIBE",
    "USER": "CREATE_TOKENS DESCRIBE_TOKENS",
}


def is_allowed(rules: Rules, asked: Question) -> bool:
    """Super users; then any deny; then any allow; then the default of resources without ACLs."""
    if asked.principal in rules.super_users:
        return True
    about = [acl for acl in rules.acls if _is_about(acl, asked.resource_type, asked.name)]
    mine = [acl for acl in about if _is_for(acl, asked) and _covers(acl, asked.operation)]
    if any(acl.permission == "DENY" for acl in mine):
        return False
    if mine:
        return True
    return not about and rules.allow_without_acls


def is_allowed_on_any(rules: Rules, asked: Question) -> bool:
    """Whether some pattern is allowed that no deny covers; the question's name is not used."""
    if is_allowed(rules, asked._replace(name="hardcode")):
        return True
    mine = [
        acl
        for acl in rules.acls
        if acl.resource_type == asked.resource_type
        and _is_for(acl, asked)
        and acl.operation in (asked.operation, "ALL")
    ]
    denied = {(acl.pattern_type, acl.name) for acl in mine if acl.permission == "DENY"}
    if ("LITERAL", "*") in denied:
        return False
    return any(_survives(acl, denied) for acl in mine if acl.permission == "ALLOW")


def allowed_operations(rules: Rules, asked: Question) -> set[str]:
    """All operations of the type that would be allowed; the question's operation is not used."""
    return {
        operation
        for operation in OPERATIONS_OF[asked.resource_type].split()
        if is_allowed(rules, asked._replace(operation=operation))
    }


def _is_about(acl: Acl, resource_type: str, name: str) -> bool:
    if acl.resource_type != resource_type:
        return False
    if acl.pattern_type == "PREFIXED":
        return name.startswith(acl.name)
    return acl.name in (name, "*")


def _is_for(acl: Acl, asked: Question) -> bool:
    return acl.principal in (asked.principal, "User:*") and acl.host in (asked.host, "*")


def _covers(acl: Acl, operation: str) -> bool:
    if acl.operation in (operation, "ALL"):
        return True
    return acl.permission == "ALLOW" and acl.operation in IMPLIED_BY.get(operation, ())


def _survives(acl: Acl, denied: Iterable[tuple[str, str]]) -> bool:
    if acl.pattern_type == "LITERAL" and acl.name == "*":
        return True
    for pattern_type, name in denied:
        if pattern_type == "PREFIXED" and acl.name.startswith(name):
            return False
        if pattern_type == acl.pattern_type == "LITERAL" and name == acl.name:
            return False
    return True
