"""Examples of decisions, as in the security chapter of Kafka's documentation."""

import pytest

from dray.acls import (
    CLUSTER_NAME,
    EMPTY_INDEX,
    AclEntry,
    Authorizer,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
    canonical_host,
    super_users,
    supported_operations,
)
from dray.ids import ANONYMOUS, Principal

TOPIC, GROUP, CLUSTER = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER
PREFIXED = PatternType.PREFIXED
ALLOW, DENY = Permission.ALLOW, Permission.DENY
BOB, ALICE = Principal.user("Bob"), Principal.user("Alice")
HOST = "198.51.100.0"


def authorizer(
    acls: dict[ResourcePattern, list[AclEntry]], supers: str = "", *, allow_without_acls: bool = False
) -> Authorizer:
    return Authorizer(EMPTY_INDEX.replaced(acls), super_users(supers), allow_without_acls=allow_without_acls)


def test_principals_may_use_a_topic_from_the_named_hosts() -> None:
    entries = [
        AclEntry(f"User:{name}", host, operation, ALLOW)
        for name in ("Bob", "Alice")
        for host in (HOST, "198.51.100.1")
        for operation in (Operation.READ, Operation.WRITE)
    ]
    by = authorizer({ResourcePattern(TOPIC, "Test-topic"): entries})
    allowed = by.decide(BOB, HOST, Operation.READ, TOPIC, "Test-topic")
    assert allowed.allowed
    assert allowed.binding is not None
    assert allowed.binding.entry == AclEntry("User:Bob", HOST, Operation.READ, ALLOW)
    assert not by.decide(BOB, "198.51.100.3", Operation.READ, TOPIC, "Test-topic").allowed
    assert not by.decide(BOB, HOST, Operation.READ, TOPIC, "Test-topic-2").allowed
    assert not by.decide(BOB, HOST, Operation.READ, GROUP, "Test-topic").allowed
    assert not by.decide(ANONYMOUS, HOST, Operation.READ, TOPIC, "Test-topic").allowed


def test_all_may_read_but_one_from_one_host() -> None:
    by = authorizer(
        {
            ResourcePattern(TOPIC, "Test-topic"): [
                AclEntry("User:*", "*", Operation.READ, ALLOW),
                AclEntry("User:BadBob", "198.51.100.3", Operation.READ, DENY),
            ]
        }
    )
    bad = Principal.user("BadBob")
    denied = by.decide(bad, "198.51.100.3", Operation.READ, TOPIC, "Test-topic")
    assert (denied.allowed, denied.binding is not None) == (False, True)
    assert by.decide(bad, HOST, Operation.READ, TOPIC, "Test-topic").allowed
    assert by.decide(Principal("Group", "x"), "198.51.100.3", Operation.READ, TOPIC, "Test-topic").allowed
    assert by.decide(bad, "198.51.100.3", Operation.DESCRIBE, TOPIC, "Test-topic").allowed


def test_prefix_that_denies_wins_over_literal_and_wildcard() -> None:
    full_access = [AclEntry("User:*", "*", Operation.ALL, ALLOW)]
    by = authorizer(
        {
            ResourcePattern(TOPIC, "*"): full_access,
            ResourcePattern(TOPIC, "Test-topic"): full_access,
            ResourcePattern(TOPIC, "Test-", PREFIXED): [AclEntry("User:Bob", "*", Operation.WRITE, DENY)],
        }
    )
    assert not by.decide(BOB, HOST, Operation.WRITE, TOPIC, "Test-topic").allowed
    assert by.decide(BOB, HOST, Operation.READ, TOPIC, "Test-topic").allowed
    assert by.decide(BOB, HOST, Operation.WRITE, TOPIC, "Test").allowed
    assert by.decide(ALICE, HOST, Operation.WRITE, TOPIC, "Test-topic").allowed


def test_resource_without_acls_is_for_super_users_unless_a_setting_allows_it() -> None:
    by = authorizer({}, "User:Bob;User:Carol")
    assert by.decide(BOB, HOST, Operation.ALTER, CLUSTER, CLUSTER_NAME).allowed
    assert not by.decide(ALICE, HOST, Operation.ALTER, CLUSTER, CLUSTER_NAME).allowed
    assert by.authorized_operations(BOB, HOST, CLUSTER, CLUSTER_NAME) == supported_operations(CLUSTER)
    assert by.authorized_operations(ALICE, HOST, CLUSTER, CLUSTER_NAME) == 0
    open_to_all = authorizer(
        {ResourcePattern(TOPIC, "t"): [AclEntry("User:Bob", "*", Operation.READ, ALLOW)]},
        allow_without_acls=True,
    )
    assert open_to_all.decide(ALICE, HOST, Operation.READ, TOPIC, "u").allowed
    assert not open_to_all.decide(ALICE, HOST, Operation.READ, TOPIC, "t").allowed


def test_name_that_begins_with_the_wildcard_is_matched_by_it() -> None:
    by = authorizer({ResourcePattern(GROUP, "*"): [AclEntry("User:*", "*", Operation.READ, DENY)]})
    assert by.decide(BOB, HOST, Operation.READ, GROUP, "*and more").binding is not None


@pytest.mark.parametrize(
    ("dominating", "allowed"),
    [
        (ResourcePattern(TOPIC, "orders-1"), False),
        (ResourcePattern(TOPIC, "orders-", PREFIXED), False),
        (ResourcePattern(TOPIC, "orders-1", PREFIXED), False),
        (ResourcePattern(TOPIC, "*"), False),
        (ResourcePattern(TOPIC, "orders-"), True),
        (ResourcePattern(TOPIC, "orders-10", PREFIXED), True),
        (ResourcePattern(GROUP, "*"), True),
    ],
)
def test_producer_may_write_some_topic_unless_a_deny_dominates(
    dominating: ResourcePattern, allowed: bool
) -> None:
    by = authorizer(
        {
            ResourcePattern(TOPIC, "orders-1"): [AclEntry("User:Bob", "*", Operation.WRITE, ALLOW)],
            dominating: [AclEntry("User:*", "*", Operation.WRITE, DENY)],
        }
        if dominating != ResourcePattern(TOPIC, "orders-1")
        else {
            dominating: [
                AclEntry("User:Bob", "*", Operation.WRITE, ALLOW),
                AclEntry("User:*", "*", Operation.WRITE, DENY),
            ]
        }
    )
    assert by.decide_by_resource_type(BOB, HOST, Operation.WRITE, TOPIC).allowed is allowed
    assert not by.decide_by_resource_type(ALICE, HOST, Operation.WRITE, TOPIC).allowed


def test_hosts_are_compared_as_addresses() -> None:
    entries = [
        AclEntry("User:Bob", host, Operation.READ, ALLOW) for host in ("0:0:0:0:0:0:0:1", "::ffff:10.0.0.1")
    ]
    by = authorizer({ResourcePattern(TOPIC, "t"): entries})
    for host, allowed in {"::1": True, "::ffff:a00:1": True, "10.0.0.1": True, "10.0.0.2": False}.items():
        assert by.decide(BOB, canonical_host(host), Operation.READ, TOPIC, "t").allowed is allowed
    assert canonical_host("2001:DB8:0:0::1") == "2001:db8::1"
    assert canonical_host("10.0.0.0/8") == "10.0.0.0/8"
    assert canonical_host("*") == "*"


def test_authorized_operations_have_the_codes_of_operations_as_bits() -> None:
    """The same numbers as in responses of a broker without an authorizer."""
    by = authorizer({}, allow_without_acls=True)
    numbers = {
        kind.name: by.authorized_operations(BOB, HOST, kind, "x")
        for kind in ResourceType
        if kind is not ResourceType.ANY
    }
    assert numbers == {
        "TOPIC": 0b1101_1111_1000,
        "GROUP": 0b1101_0100_1000,
        "CLUSTER": 0b1_1111_1010_0000,
        "TRANSACTIONAL_ID": 0b1000_0001_0001_0000,
        "DELEGATION_TOKEN": 0b1_0000_0000,
        "USER": 0b110_0000_0000_0000,
    }


def test_principal_is_a_type_and_a_name() -> None:
    assert str(Principal.parse("User:CN=a:b,O=c")) == "User:CN=a:b,O=c"
    assert Principal.parse("User:CN=a:b,O=c") == Principal("User", "CN=a:b,O=c")
    assert Principal.parse(":") == Principal("", "")
    assert str(ANONYMOUS) == "User:ANONYMOUS"
    with pytest.raises(ValueError, match="such as User:alice, got 'alice'"):
        Principal.parse("alice")
    with pytest.raises(ValueError, match="must not contain a colon"):
        Principal("User:x", "y")


def test_super_users_are_separated_by_semicolons() -> None:
    assert super_users(" User:CN=a,O=b ; ;User:c;") == {"User:CN=a,O=b", "User:c"}
    assert super_users("") == frozenset()
    with pytest.raises(ValueError, match="got 'c'"):
        super_users("User:b;c")
