"""Filters of DescribeClientQuotas: which entities a request asks for."""

from collections.abc import Iterable
from enum import IntEnum
from typing import Final, NamedTuple

from dray.quotas.entities import CLIENT_ID, IP, USER, Entity

_MATCH_GIVEN: Final = "Request specified MATCH_TYPE_{}, but also specified a match string."


class InvalidFilter(ValueError):
    """A filter contradicts itself; the message is Kafka's."""


class UnknownEntityType(ValueError):
    """A filter names a type of entity that does not exist."""


class MatchType(IntEnum):
    """How a component of a filter selects the name of an entity."""

    EXACT = 0
    DEFAULT = 1
    ANY = 2


class FilterComponent(NamedTuple):
    """What a filter demands of one type."""

    entity_type: str
    match_type: int
    match: str | None


class EntityFilter(NamedTuple):
    """Demands on the parts of an entity."""

    names: dict[str, str | None]
    """Types that must have this name, or be the default."""
    types: set[str]
    """Types that may have any name, or be the default."""
    strict: bool
    """Whether an entity must have no other parts."""

    def matches(self, entity: Entity) -> bool:
        found = entity.names
        if self.strict and len(found) != len(self.names) + len(self.types):
            return False
        named = all(kind in found and found[kind] == name for kind, name in self.names.items())
        return named and self.types <= found.keys()


def parse_filter(components: Iterable[FilterComponent], *, strict: bool) -> EntityFilter:
    """Return the filter; raises `InvalidFilter` and `UnknownEntityType`, in Kafka's order of checks."""
    parsed = EntityFilter({}, set(), strict)
    for component in components:
        _check_type(component.entity_type, parsed)
        if _name_is_free(component):
            parsed.types.add(component.entity_type)
        else:
            parsed.names[component.entity_type] = component.match
    asked = parsed.names.keys() | parsed.types
    if IP in asked and len(asked) > 1:
        raise InvalidFilter(
            "Invalid entity filter component combination. IP filter component should not be used with "
            "user or clientId filter component."
        )
    return parsed


def _check_type(kind: str, parsed: EntityFilter) -> None:
    if not kind:
        raise InvalidFilter("Invalid empty entity type.")
    if kind in parsed.names or kind in parsed.types:
        raise InvalidFilter(f"Entity type {kind} cannot appear more than once in the filter.")
    if kind not in (USER, CLIENT_ID, IP):
        raise UnknownEntityType(f"Unsupported entity type {kind}")


def _name_is_free(component: FilterComponent) -> bool:
    """Return whether any name matches; check that a name is given when there must be one, and only then."""
    match component.match_type:
        case MatchType.EXACT:
            if component.match is None:
                raise InvalidFilter("Request specified MATCH_TYPE_EXACT, but set match string to null.")
            return False
        case MatchType.DEFAULT:
            if component.match is not None:
                raise InvalidFilter(
                    "Request specified MATCH_TYPE_DEFAULT, but also specified a match string."
                )
            return False
        case MatchType.ANY:
            if component.match is not None:
                raise InvalidFilter(_MATCH_GIVEN.format("SPECIFIED"))
            return True
        case _:
            raise InvalidFilter(f"Unknown match type {component.match_type}")
