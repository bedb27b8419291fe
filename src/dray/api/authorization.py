"""Authorization: what the client of a request may do, item by item.

Each handler checks what Apache Kafka checks, in Kafka's order. Without an authorizer everything is allowed.
A client that may not describe a topic or a group does not learn whether it exists.
"""

from typing import Final

from msgspec import Struct

from dray.acls import CLUSTER_NAME, Authorizer, Operation, ResourceType, supported_operations
from dray.api.audit import AuditLog, Caller
from dray.api.errors import RequestRejected
from dray.wire import ErrorCode

_DENIED: Final = {
    ResourceType.TOPIC: (ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed."),
    ResourceType.GROUP: (ErrorCode.GROUP_AUTHORIZATION_FAILED, "Group authorization failed."),
    ResourceType.CLUSTER: (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed."),
    ResourceType.TRANSACTIONAL_ID: (
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        "Transactional Id authorization failed.",
    ),
}

NOT_REQUESTED: Final = -(1 << 31)
"""The authorized operations in responses to clients that did not ask for them."""


class Access(Struct, frozen=True):
    """What a client may do."""

    authorizer: Authorizer | None
    """None if the cluster has no authorizer: everything is allowed."""
    caller: Caller
    audit: AuditLog

    def allows(self, operation: Operation, kind: ResourceType, name: str, *, audited: bool = True) -> bool:
        """Return whether an operation is allowed; denials are audited unless Kafka does not log them."""
        if self.authorizer is None:
            return True
        caller = self.caller
        if self.authorizer.decide(caller.principal, caller.host, operation, kind, name).allowed:
            return True
        if audited:
            self.audit.denied(caller, operation.name, f"{kind.name}:{name}")
        return False

    def allows_on_topic(self, operation: Operation, name: str, *, audited: bool = True) -> bool:
        if self.authorizer is None:  # most clusters have none, and all requests with records ask this
            return True
        return self.allows(operation, ResourceType.TOPIC, name, audited=audited)

    def allows_on_group(self, operation: Operation, name: str, *, audited: bool = True) -> bool:
        return self.allows(operation, ResourceType.GROUP, name, audited=audited)

    def allows_on_cluster(self, operation: Operation, *, audited: bool = True) -> bool:
        return self.allows(operation, ResourceType.CLUSTER, CLUSTER_NAME, audited=audited)

    def may_describe_topic(self, name: str) -> bool:
        """Return whether a regular expression may match this topic; Kafka does not log denials."""
        return self.allows_on_topic(Operation.DESCRIBE, name, audited=False)

    def allows_on_some_topic(self, operation: Operation) -> bool:
        """Return whether the operation is allowed on at least one topic, existing or not."""
        if self.authorizer is None:
            return True
        principal, host = self.caller.principal, self.caller.host
        kind = ResourceType.TOPIC
        if self.authorizer.decide_by_resource_type(principal, host, operation, kind).allowed:
            return True
        self.audit.denied(self.caller, operation.name, f"any {kind.name}")
        return False

    def require_on_topic(self, operation: Operation, name: str) -> None:
        """Raise `RequestRejected` without a message if the operation is not allowed."""
        if not self.allows_on_topic(operation, name):
            raise RequestRejected(ErrorCode.TOPIC_AUTHORIZATION_FAILED)

    def require_on_group(self, operation: Operation, name: str) -> None:
        """Raise `RequestRejected` without a message if the operation is not allowed."""
        if not self.allows_on_group(operation, name):
            raise RequestRejected(ErrorCode.GROUP_AUTHORIZATION_FAILED)

    def require_on_cluster(self, operation: Operation) -> None:
        """Raise `RequestRejected` if the operation is not allowed."""
        if not self.allows_on_cluster(operation):
            raise denied(ResourceType.CLUSTER)

    def operations(self, kind: ResourceType, name: str) -> int:
        """Return the allowed operations as responses have them: one bit for each."""
        if self.authorizer is None:
            return supported_operations(kind)
        return self.authorizer.authorized_operations(self.caller.principal, self.caller.host, kind, name)

    def operations_on_cluster(self) -> int:
        """Return the allowed operations on the cluster; none if it may not be described."""
        if not self.allows_on_cluster(Operation.DESCRIBE):
            return 0
        return self.operations(ResourceType.CLUSTER, CLUSTER_NAME)


def denied(kind: ResourceType) -> RequestRejected:
    """Return the error for a resource of this type, with the message that some of Kafka's APIs give."""
    code, message = _DENIED[kind]
    return RequestRejected(code, message)
