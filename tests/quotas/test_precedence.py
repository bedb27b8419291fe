"""Precedence of quotas, against a model that compares every entity with every rule."""

from hypothesis import given
from hypothesis import strategies as st

from dray.quotas import CLIENT_ID, IP, USER, AddressShare, Entity, Share, address_share_of, share_of

NAMES = ("a", "b", None)
ENTITIES = [
    Entity.of(names)
    for names in (
        *({USER: user, CLIENT_ID: client} for user in NAMES for client in NAMES),
        *({USER: user} for user in NAMES),
        *({CLIENT_ID: client} for client in NAMES),
    )
]
ORDER = [
    *("user+client", "user+default", "user"),
    *("default+client", "default+default", "default"),
    *("client", "default-client"),
]


def rank(entity: Entity, user: str, client_id: str) -> int | None:
    """Return the place of an entity in Kafka's order; None if it does not apply to the client."""
    names = entity.names
    if names.get(USER, user) not in (user, None) or names.get(CLIENT_ID, client_id) not in (client_id, None):
        return None
    if CLIENT_ID in names and not client_id:
        return None
    if USER not in names:
        return ORDER.index("default-client" if names[CLIENT_ID] is None else "client")
    rule = "default" if names[USER] is None else "user"
    if CLIENT_ID in names:
        rule += "+default" if names[CLIENT_ID] is None else "+client"
    return ORDER.index(rule)


@given(
    st.dictionaries(st.sampled_from(ENTITIES), st.floats(1, 100)),
    st.sampled_from("abc"),
    st.sampled_from(["a", "b", "c", ""]),
)
def test_most_specific_entity_wins(limits: dict[Entity, float], user: str, client_id: str) -> None:
    ranked = {entity: rank(entity, user, client_id) for entity in limits}
    applying = sorted((place, entity) for entity, place in ranked.items() if place is not None)
    found = share_of(limits, user, client_id)
    if not applying:
        assert found is None
        return
    entity = applying[0][1]
    whole_user, any_user = CLIENT_ID not in entity.names, USER not in entity.names
    assert found == Share("" if any_user else user, "" if whole_user else client_id, limits[entity])


def test_every_rule_is_used_in_kafkas_order() -> None:
    limits = {
        entity: float(place)
        for entity in ENTITIES
        if (place := rank(entity, "a", "a")) is not None and entity.names.items()
    }
    found = []
    while (share := share_of(limits, "a", "a")) is not None:
        found.append(ORDER[int(share.limit)])
        limits = {entity: limit for entity, limit in limits.items() if limit != share.limit}
    assert found == ORDER


def test_limit_of_an_address_is_found_in_any_notation_and_else_the_default() -> None:
    limits = {Entity.of({IP: "::1"}): 3.0, Entity.of({IP: None}): 7.0}
    assert address_share_of(limits, "0:0:0:0:0:0:0:1") == AddressShare("::1", 3.0)
    assert address_share_of(limits, "10.0.0.1") == AddressShare("10.0.0.1", 7.0)
    only = {Entity.of({IP: "10.0.0.2"}): 3.0}
    assert address_share_of(only, "10.0.0.1") is None
    assert address_share_of(only, "::ffff:10.0.0.2") == AddressShare("10.0.0.2", 3.0)


def test_addresses_of_one_ipv6_network_share_the_default() -> None:
    limits = {Entity.of({IP: "2001:db8::9"}): 3.0, Entity.of({IP: None}): 7.0}
    found = [address_share_of(limits, f"2001:db8::{last}") for last in ("1", "2", "9", "1:0:0:0")]
    shared = AddressShare("2001:db8::/64", 7.0)
    assert found == [shared, shared, AddressShare("2001:db8::9", 3.0), shared]
    assert address_share_of(limits, "2001:db8:0:1::1") == AddressShare("2001:db8:0:1::/64", 7.0)
    assert address_share_of(limits, "fe80::1%eth0") == address_share_of(limits, "fe80::2%eth0")
