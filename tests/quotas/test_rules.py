"""Validation of quotas and filters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.quotas import (
    CLIENT_ID,
    IP,
    USER,
    Entity,
    FilterComponent,
    InvalidFilter,
    InvalidQuota,
    UnknownEntityType,
    altered_limits,
    parse_filter,
)

ALICE = Entity.of({USER: "alice"})
EXACT, DEFAULT, ANY = range(3)
NAMES = st.sampled_from(["a", "b", None])
ENTITIES = st.dictionaries(st.sampled_from([USER, CLIENT_ID]), NAMES, min_size=1) | NAMES.map(
    lambda name: {IP: name}
)


def test_limits_are_set_and_removed_together() -> None:
    before = {"producer_byte_rate": 10.0, "request_percentage": 5.0}
    after = altered_limits(
        ALICE, before, [("producer_byte_rate", None), ("consumer_byte_rate", 7.0), ("no such key", None)]
    )
    assert after == {"request_percentage": 5.0, "consumer_byte_rate": 7.0}
    assert before == {"producer_byte_rate": 10.0, "request_percentage": 5.0}


@pytest.mark.parametrize(
    ("names", "key", "value", "message"),
    [
        ({}, "producer_byte_rate", 1, "Invalid empty client quota entity"),
        ({"host": "a"}, "producer_byte_rate", 1, "Unhandled client quota entity type: host"),
        ({USER: ""}, "producer_byte_rate", 1, "Empty user not supported"),
        ({USER: "a", IP: "::1"}, "producer_byte_rate", 1, "Invalid quota entity combination, .*"),
        ({IP: "no address"}, "connection_creation_rate", 1, "no address is not a valid IP or .* host."),
        ({IP: "::1"}, "producer_byte_rate", 1, "Invalid configuration key producer_byte_rate"),
        ({USER: "a"}, "connection_creation_rate", 1, "Invalid configuration key connection_creation_rate"),
        ({USER: "a"}, "producer_byte_rate", 0, "Quota producer_byte_rate must be greater than 0"),
        ({USER: "a"}, "request_percentage", -0.5, "Quota request_percentage must be greater than 0"),
        ({USER: "a"}, "request_percentage", float("nan"), "Quota .* must be greater than 0"),
        ({USER: "a"}, "producer_byte_rate", 1e19, "Proposed value for .* is too large for a LONG."),
        ({IP: None}, "connection_creation_rate", 2**31, "Proposed value for .* is too large for an INT."),
        ({USER: "a"}, "consumer_byte_rate", 1.5, "consumer_byte_rate cannot be a fractional value."),
    ],
)
def test_invalid_quota_is_refused_with_the_message_of_kafka(
    names: dict[str, str | None], key: str, value: float, message: str
) -> None:
    with pytest.raises(InvalidQuota, match=f"^{message}$"):
        altered_limits(Entity.of(names), {}, [(key, value)])


@pytest.mark.parametrize(
    ("names", "key", "value"),
    [
        ({USER: None, CLIENT_ID: "a"}, "producer_byte_rate", 2.0**63),
        ({USER: "a"}, "request_percentage", 0.01),
        ({CLIENT_ID: None}, "controller_mutation_rate", 1e300),
        ({IP: "10.0.0.1"}, "connection_creation_rate", 2.0**31 - 1),
    ],
)
def test_largest_and_fractional_values_are_accepted(
    names: dict[str, str | None], key: str, value: float
) -> None:
    assert altered_limits(Entity.of(names), {}, [(key, value)]) == {key: value}


def test_key_that_is_given_twice_is_refused() -> None:
    with pytest.raises(InvalidQuota, match=r"ClientQuotaEntity\(entries=\{client-id=null, user=a\}\)$"):
        altered_limits(
            Entity.of({USER: "a", CLIENT_ID: None}),
            {},
            [("producer_byte_rate", 1.0), ("producer_byte_rate", 2.0)],
        )


@given(ENTITIES, st.lists(st.tuples(st.sampled_from([USER, CLIENT_ID]), st.sampled_from([0, 1, 2]), NAMES)))
def test_filter_matches_what_satisfies_every_component(
    names: dict[str, str | None], asked: list[tuple[str, int, str | None]]
) -> None:
    components = {
        kind: FilterComponent(kind, match, (name or "a") if match == EXACT else None)
        for kind, match, name in asked
    }
    satisfied = all(
        one.entity_type in names
        and {EXACT: one.match, DEFAULT: None, ANY: names[one.entity_type]}[one.match_type]
        == names[one.entity_type]
        for one in components.values()
    )
    entity = Entity.of(names)
    assert parse_filter(components.values(), strict=False).matches(entity) == satisfied
    only = satisfied and set(components) == set(names)
    assert parse_filter(components.values(), strict=True).matches(entity) == only


@pytest.mark.parametrize(
    ("components", "message"),
    [
        ([("", EXACT, "a")], "Invalid empty entity type."),
        ([(USER, EXACT, "a"), (USER, ANY, None)], "Entity type user cannot appear more than once .*"),
        ([(USER, EXACT, None)], "Request specified MATCH_TYPE_EXACT, but set match string to null."),
        ([(USER, DEFAULT, "a")], "Request specified MATCH_TYPE_DEFAULT, but also specified a match string."),
        ([(USER, ANY, "a")], "Request specified MATCH_TYPE_SPECIFIED, but also specified a match string."),
        ([(USER, 3, None)], "Unknown match type 3"),
        ([(USER, ANY, None), (IP, ANY, None)], "Invalid entity filter component combination. .*"),
    ],
)
def test_contradictory_filter_is_refused(components: list[tuple[str, int, str | None]], message: str) -> None:
    with pytest.raises(InvalidFilter, match=f"^{message}$"):
        parse_filter([FilterComponent(*one) for one in components], strict=False)


def test_unknown_type_in_a_filter_is_refused() -> None:
    with pytest.raises(UnknownEntityType, match=r"^Unsupported entity type host$"):
        parse_filter([FilterComponent("host", ANY, None)], strict=False)
