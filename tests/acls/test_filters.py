"""Filters of ACLs and the validation of what requests contain; compared with Kafka in tests/oracle."""

from typing import Any

import pytest

from dray.acls import (
    AclBinding,
    AclEntry,
    AclFilter,
    BindingCodes,
    EntryFilter,
    FilterCodes,
    InvalidAcl,
    Operation,
    PatternFilter,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
    binding_of,
    filter_of,
)

TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP
ANY, MATCH, LITERAL, PREFIXED = PatternType
ENTRY = AclEntry("User:a", "*", Operation.READ, Permission.ALLOW)
PATTERNS = {
    "literal ab": ResourcePattern(TOPIC, "ab"),
    "literal *": ResourcePattern(TOPIC, "*"),
    "prefix a": ResourcePattern(TOPIC, "a", PREFIXED),
    "prefix ab": ResourcePattern(TOPIC, "ab", PREFIXED),
    "prefix abc": ResourcePattern(TOPIC, "abc", PREFIXED),
    "prefix *": ResourcePattern(TOPIC, "*", PREFIXED),
    "group ab": ResourcePattern(GROUP, "ab"),
}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (PatternFilter(), set(PATTERNS)),
        (PatternFilter(GROUP), {"group ab"}),
        (PatternFilter(name="ab"), {"literal ab", "prefix ab", "group ab"}),
        (PatternFilter(TOPIC, "ab", LITERAL), {"literal ab"}),
        (PatternFilter(TOPIC, "ab", PREFIXED), {"prefix ab"}),
        (PatternFilter(TOPIC, None, PREFIXED), {"prefix a", "prefix ab", "prefix abc", "prefix *"}),
        (PatternFilter(TOPIC, None, MATCH), set(PATTERNS) - {"group ab"}),
        (PatternFilter(TOPIC, "ab", MATCH), {"literal ab", "literal *", "prefix a", "prefix ab"}),
        (PatternFilter(TOPIC, "*", MATCH), {"literal *", "prefix *"}),
        (PatternFilter(TOPIC, "*", ANY), {"literal *", "prefix *"}),
        (PatternFilter(TOPIC, "", MATCH), {"literal *"}),
        (PatternFilter(TOPIC, "", ANY), set()),
    ],
    ids=lambda value: ", ".join(sorted(value)) if isinstance(value, set) else str(value),
)
def test_pattern_filter_selects(given: PatternFilter, expected: set[str]) -> None:
    assert {name for name, pattern in PATTERNS.items() if given.matches(pattern)} == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (EntryFilter(), True),
        (EntryFilter("User:a", "*", Operation.READ, Permission.ALLOW), True),
        (EntryFilter(principal="User:*"), False),
        (EntryFilter(principal=""), False),
        (EntryFilter(host="10.0.0.1"), False),
        (EntryFilter(operation=Operation.ALL), False),
        (EntryFilter(permission=Permission.DENY), False),
    ],
    ids=str,
)
def test_entry_filter_selects(given: EntryFilter, expected: bool) -> None:
    assert given.matches(ENTRY) is expected
    both = AclFilter(PatternFilter(TOPIC), given)
    assert both.matches(AclBinding(PATTERNS["literal ab"], ENTRY)) is expected
    assert not both.matches(AclBinding(PATTERNS["group ab"], ENTRY))


GOOD = BindingCodes(2, "t", 3, "User:a", "*", 3, 3)


def test_binding_has_the_meaning_of_its_codes() -> None:
    assert binding_of(GOOD) == AclBinding(ResourcePattern(TOPIC, "t"), ENTRY)
    assert binding_of(GOOD._replace(resource_type=4, name="kafka-cluster")).pattern.name == "kafka-cluster"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"resource_type": 1}, "Invalid resourceType ANY"),
        ({"resource_type": 99}, "Invalid resourceType UNKNOWN"),
        ({"pattern_type": 1}, "Invalid patternType ANY"),
        ({"pattern_type": 2}, "Invalid patternType MATCH"),
        ({"pattern_type": 5}, "Invalid patternType UNKNOWN"),
        ({"operation": 1}, "Invalid operation ANY"),
        ({"operation": 16}, "Invalid operation UNKNOWN"),
        ({"permission": 1}, "Invalid permissionType ANY"),
        ({"permission": -3}, "Invalid permissionType UNKNOWN"),
        ({"name": ""}, "Invalid empty resource name"),
        ({"resource_type": 4}, "The only valid name for the CLUSTER resource is kafka-cluster"),
        ({"principal": "a"}, "Could not parse principal from `a` (no colon is present separating"),
    ],
    ids=str,
)
def test_invalid_binding_is_refused_with_kafkas_message(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidAcl) as refused:
        binding_of(GOOD._replace(**change))
    assert str(refused.value).startswith(message)


def test_filter_has_the_meaning_of_its_codes() -> None:
    assert filter_of(FilterCodes(1, None, 1, None, None, 1, 1)) == AclFilter()
    given = filter_of(FilterCodes(2, "t", 2, "User:a", "*", 3, 3))
    entry = EntryFilter("User:a", "*", Operation.READ, Permission.ALLOW)
    assert given == AclFilter(PatternFilter(TOPIC, "t", MATCH), entry)


@pytest.mark.parametrize(("field", "what"), [(0, "pattern"), (2, "pattern"), (5, "entry"), (6, "entry")])
def test_filter_with_an_unknown_code_is_refused(field: int, what: str) -> None:
    codes = [1, None, 1, None, None, 1, 1]
    codes[field] = 50
    with pytest.raises(InvalidAcl, match=f"Unknown {what}Filter."):
        filter_of(FilterCodes(*codes))  # type: ignore[arg-type]
