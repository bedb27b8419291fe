"""Index of ACLs for decisions, immutable: the patterns that match a resource, without looking at the others.

Literal patterns are found by name. Prefixes are found by cutting the name at each length that some prefix
has, shortest first; the lengths are sorted, so the search ends at the name's own.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from msgspec import Struct

from dray.acls.hosts import canonical_host
from dray.acls.model import (
    WILDCARD,
    AclBinding,
    AclEntry,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
)
from dray.acls.operations import covered_operations


class Decision(Struct, frozen=True):
    """Whether an operation is allowed, and the binding that decided; None if none did."""

    allowed: bool
    binding: AclBinding | None = None


class Rule(Struct, frozen=True):
    """A binding in the form that decisions need."""

    operations: int
    """The operations that it covers, as a bit field."""
    host: str
    decision: Decision
    binding: AclBinding

    def applies_to(self, host: str) -> bool:
        return self.host in (host, WILDCARD)


PatternRules: TypeAlias = Mapping[str, tuple[Rule, ...]]
"""The rules of one pattern by principal, denials first."""


@dataclass(frozen=True, slots=True)
class _Patterns:
    """The patterns of one type of resource."""

    literals: Mapping[str, PatternRules]
    prefixes: Mapping[str, PatternRules]
    lengths: tuple[int, ...]

    def replaced(self, changes: Iterable[tuple[ResourcePattern, PatternRules]]) -> "_Patterns":
        literals, prefixes = dict(self.literals), dict(self.prefixes)
        for pattern, rules in changes:
            held = prefixes if pattern.pattern_type is PatternType.PREFIXED else literals
            if rules:
                held[pattern.name] = rules
            else:
                held.pop(pattern.name, None)
        return _Patterns(literals, prefixes, tuple(sorted({len(prefix) for prefix in prefixes})))


_NO_PATTERNS: Final = _Patterns({}, {}, ())
_TYPES: Final = max(ResourceType) + 1


class AclIndex:
    """The ACLs of a cluster at one moment."""

    __slots__ = ("_types",)

    def __init__(self, types: tuple[_Patterns, ...] = (_NO_PATTERNS,) * _TYPES) -> None:
        self._types = types

    def replaced(self, changes: Mapping[ResourcePattern, Iterable[AclEntry]]) -> "AclIndex":
        """Return an index where these patterns have these entries; one without entries is removed."""
        by_type: dict[ResourceType, list[tuple[ResourcePattern, PatternRules]]] = {}
        for pattern, entries in changes.items():
            by_type.setdefault(pattern.resource_type, []).append((pattern, _rules(pattern, entries)))
        types = list(self._types)
        for resource_type, changed in by_type.items():
            types[resource_type] = types[resource_type].replaced(changed)
        return AclIndex(tuple(types))

    def matching(self, resource_type: ResourceType, name: str) -> list[PatternRules]:
        """Return the rules of the patterns that match a resource."""
        patterns = self._types[resource_type]
        literals, prefixes, longest = patterns.literals, patterns.prefixes, len(name)
        found = [literals[literal] for literal in (name, WILDCARD) if literal in literals]
        for length in patterns.lengths:
            if length > longest:
                break
            rules = prefixes.get(name[:length])
            if rules is not None:
                found.append(rules)
        return found

    def of_type(self, resource_type: ResourceType) -> Iterator[PatternRules]:
        """Return the rules of all patterns of a type."""
        patterns = self._types[resource_type]
        yield from patterns.literals.values()
        yield from patterns.prefixes.values()


EMPTY_INDEX: Final = AclIndex()


def _rules(pattern: ResourcePattern, entries: Iterable[AclEntry]) -> PatternRules:
    by_principal: dict[str, list[Rule]] = {}
    for entry in sorted(set(entries), key=lambda entry: (entry.permission, entry)):
        binding = AclBinding(pattern, entry)
        decision = Decision(entry.permission is Permission.ALLOW, binding)
        rule = Rule(covered_operations(entry), canonical_host(entry.host), decision, binding)
        by_principal.setdefault(entry.principal, []).append(rule)
    return {principal: tuple(rules) for principal, rules in by_principal.items()}
