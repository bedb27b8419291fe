"""Decisions about operations on resources, as Apache Kafka's StandardAuthorizer makes them.

A super user may do everything. Otherwise all ACLs whose pattern matches the resource are considered, literal
ones, the wildcard and prefixes alike: one that denies decides; if there is none, one that allows. If ACLs
match the resource but none of them the request, it is denied. If no ACL matches the resource, a setting
decides, which denies by default.

Difference from Kafka: the wildcard matches every name. Kafka skips it for names that begin with `*` and have
more characters, also where it denies.

Hosts of requests are those of `canonical_host`. An authorizer never changes; it is safe to keep one for the
time of a request. It remembers its last decisions, because clients ask for the same again and again.
"""

from collections.abc import Iterator
from typing import Final

from dray.acls.index import AclIndex, Decision, PatternRules, Rule
from dray.acls.model import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    Operation,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from dray.acls.operations import supported_operations
from dray.ids import Principal

_ALLOWED: Final = Decision(allowed=True)
_DENIED: Final = Decision(allowed=False)
_REMEMBERED_MAX: Final = 1_000
_REMEMBERED_NAME_MAX: Final = 256
_PROBE: Final = "hardcode"
"""The name that stands for any resource of a type; Kafka's, so that the same ACLs match it."""


class Authorizer:
    """Decides by the ACLs of one moment."""

    __slots__ = ("_decisions", "_index", "_super_users", "_without_acls")

    def __init__(self, index: AclIndex, super_users: frozenset[str], *, allow_without_acls: bool) -> None:
        self._index = index
        self._super_users = super_users
        self._without_acls = _ALLOWED if allow_without_acls else _DENIED
        self._decisions: dict[tuple[str, str, Operation, ResourceType, str], Decision] = {}

    def decide(
        self, principal: Principal, host: str, operation: Operation, resource_type: ResourceType, name: str
    ) -> Decision:
        """Decide about an operation on a resource."""
        asked = principal.text, host, operation, resource_type, name
        known = self._decisions.get(asked)
        if known is not None:
            return known
        if len(self._decisions) >= _REMEMBERED_MAX:
            self._decisions.clear()
        decision = self._decided(*asked)
        if len(name) <= _REMEMBERED_NAME_MAX:  # clients may ask for names of 32 KiB
            self._decisions[asked] = decision
        return decision

    def _decided(
        self, principal_text: str, host: str, operation: Operation, resource_type: ResourceType, name: str
    ) -> Decision:
        if principal_text in self._super_users:
            return _ALLOWED
        matching = self._index.matching(resource_type, name)
        if not matching:
            return self._without_acls
        wanted = 1 << operation
        allowed = _DENIED
        for rules in matching:
            for rule in _rules_for(rules, principal_text):
                if rule.operations & wanted and rule.host in (host, WILDCARD):
                    if not rule.decision.allowed:
                        return rule.decision
                    allowed = rule.decision
        return allowed

    def authorized_operations(
        self, principal: Principal, host: str, resource_type: ResourceType, name: str
    ) -> int:
        """Return the operations on a resource that `decide` would allow, as a bit field."""
        supported, principal_text = supported_operations(resource_type), principal.text
        matching = self._index.matching(resource_type, name)
        if principal_text in self._super_users or (not matching and self._without_acls.allowed):
            return supported
        allowed = denied = 0
        for rules in matching:
            for rule in _rules_for(rules, principal_text):
                if not rule.applies_to(host):
                    continue
                if rule.decision.allowed:
                    allowed |= rule.operations
                else:
                    denied |= rule.operations
        return supported & allowed & ~denied

    def decide_by_resource_type(
        self, principal: Principal, host: str, operation: Operation, resource_type: ResourceType
    ) -> Decision:
        """Decide whether the operation is allowed on at least one resource of the type.

        An ACL that allows is not enough if another denies all that it allows: the wildcard, the same literal
        pattern, or a prefix of its name. Implied operations count as in Kafka only for what matches `_PROBE`.
        """
        decision = self.decide(principal, host, operation, resource_type, _PROBE)
        if decision.allowed:
            return decision
        allowing: list[Rule] = []
        denying: dict[ResourcePattern, Decision] = {}
        for rule in self._rules_of_type(principal, host, operation, resource_type):
            if rule.decision.allowed:
                allowing.append(rule)
            else:
                denying[rule.binding.pattern] = rule.decision
        everything = ResourcePattern(resource_type, WILDCARD)
        if everything in denying:
            return denying[everything]
        for rule in allowing:
            if not _dominated(rule.binding.pattern, denying):
                return rule.decision
        return _DENIED

    def _rules_of_type(
        self, principal: Principal, host: str, operation: Operation, resource_type: ResourceType
    ) -> Iterator[Rule]:
        """Yield the rules about exactly this operation, or about all."""
        principal_text = principal.text
        for rules in self._index.of_type(resource_type):
            for rule in _rules_for(rules, principal_text):
                if rule.binding.entry.operation in (operation, Operation.ALL) and rule.applies_to(host):
                    yield rule


def _rules_for(rules: PatternRules, principal_text: str) -> tuple[Rule, ...]:
    own, shared = rules.get(principal_text), rules.get(WILDCARD_PRINCIPAL)
    if own is None or principal_text == WILDCARD_PRINCIPAL:
        return shared or ()
    return own if shared is None else own + shared


def _dominated(pattern: ResourcePattern, denying: dict[ResourcePattern, Decision]) -> bool:
    """Return whether a pattern that denies covers all that this pattern covers; the wildcard is not asked."""
    if pattern in denying:
        return True
    if pattern == ResourcePattern(pattern.resource_type, WILDCARD):
        return False
    lengths = range(1, len(pattern.name) + 1)
    prefixes = (pattern.name[:length] for length in lengths)
    return any(
        ResourcePattern(pattern.resource_type, prefix, PatternType.PREFIXED) in denying for prefix in prefixes
    )
