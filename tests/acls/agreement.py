"""Comparison of the package with the rules as documented, on generated ACLs and questions."""

from collections.abc import Iterator
from random import Random
from types import ModuleType
from typing import Any, Final

from dray.ids import Principal
from tests.acls.rules import (
    OPERATIONS_OF,
    Acl,
    Question,
    Rules,
    allowed_operations,
    is_allowed,
    is_allowed_on_any,
)

TYPES = ("TOPIC", "GROUP", "CLUSTER", "TRANSACTIONAL_ID", "DELEGATION_TOKEN", "USER")
NAMES = ("a", "ab", "abc", "b", "*", "ha", "hardcode")
PRINCIPALS = ("User:x", "User:y", "Group:x", "User:*")
HOSTS = ("10.0.0.1", "::1")
OPERATIONS = ("ALL", *sorted({one for of_type in OPERATIONS_OF.values() for one in of_type.split()}))


_X: Final = ("User:x", "*", "READ")
_RARE: Final = (
    # The wildcard is allowed, also where a prefix denies the same text and the probed name is denied.
    (
        Rules(
            (
                Acl("TOPIC", "LITERAL", "*", *_X, "ALLOW"),
                Acl("TOPIC", "PREFIXED", "*", *_X, "DENY"),
                Acl("TOPIC", "LITERAL", "hardcode", *_X, "DENY"),
            ),
            frozenset(),
            allow_without_acls=False,
        ),
        Question("User:x", "::1", "READ", "TOPIC", "a"),
    ),
)


def cases(seed: int, count: int) -> Iterator[tuple[Rules, Question]]:
    """Generate questions, each with rules that mostly have something to do with it."""
    yield from _RARE
    random = Random(seed)
    for _ in range(count):
        asked = Question(
            random.choice(PRINCIPALS[:3]),
            random.choice(HOSTS),
            random.choice(("READ", "DESCRIBE", "DESCRIBE_CONFIGS", *OPERATIONS[1:])),
            random.choice(("TOPIC", "TOPIC", *TYPES)),
            random.choice((*NAMES, "c")),
        )
        acls = tuple(_acl(random, asked) for _ in range(random.choice((0, 1, 1, 2, 2, 2, 3, 6))))
        supers = random.choice((frozenset(), frozenset(), frozenset({"User:y"})))
        yield Rules(acls, supers, random.random() < 0.5), asked


def _acl(random: Random, asked: Question) -> Acl:
    return Acl(
        random.choice((*[asked.resource_type] * 6, *TYPES)),
        random.choice(("LITERAL", "PREFIXED")),
        random.choice(NAMES),
        random.choice((asked.principal, asked.principal, *PRINCIPALS)),
        random.choice((asked.host, "*", "*", *HOSTS)),
        random.choice((*[asked.operation, "ALL"] * 6, *OPERATIONS)),
        random.choice(("DENY", "ALLOW", "ALLOW")),
    )


def agree(acls: ModuleType, given: Rules, asked: Question) -> None:
    """Assert that a package decides as the rules do."""
    authorizer = acls.Authorizer(
        index_of(acls, given.acls), given.super_users, allow_without_acls=given.allow_without_acls
    )
    kind, operation = acls.ResourceType[asked.resource_type], acls.Operation[asked.operation]
    client = Principal.parse(asked.principal), asked.host

    _ask_others(acls, authorizer, asked)
    decision = authorizer.decide(*client, operation, kind, asked.name)
    assert authorizer.decide(*client, operation, kind, asked.name) is decision, "it is remembered"
    assert decision.allowed == is_allowed(given, asked)
    explained(given, asked, decision)
    on_any = authorizer.decide_by_resource_type(*client, operation, kind)
    assert on_any.allowed == is_allowed_on_any(given, asked)
    expected = sum(1 << acls.Operation[one] for one in allowed_operations(given, asked))
    assert authorizer.authorized_operations(*client, kind, asked.name) == expected


def _ask_others(acls: ModuleType, authorizer: Any, asked: Question) -> None:
    """Ask what differs from the question in one point: an answer must not be remembered for it."""
    other_kind = acls.ResourceType["GROUP" if asked.resource_type == "TOPIC" else "TOPIC"]
    other_operation = acls.Operation["READ" if asked.operation == "WRITE" else "WRITE"]
    principal, kind = Principal.parse(asked.principal), acls.ResourceType[asked.resource_type]
    operation = acls.Operation[asked.operation]
    authorizer.decide(Principal.user("another"), asked.host, operation, kind, asked.name)
    authorizer.decide(principal, "192.0.2.255", operation, kind, asked.name)
    authorizer.decide(principal, asked.host, other_operation, kind, asked.name)
    authorizer.decide(principal, asked.host, operation, other_kind, asked.name)
    authorizer.decide(principal, asked.host, operation, kind, f"{asked.name} or another")


def explained(given: Rules, asked: Question, decision: Any) -> None:
    """Assert that the binding of a decision is one of the rules and decides alike without the others."""
    if decision.binding is not None:
        only = given._replace(acls=(in_words(decision.binding),))
        assert set(only.acls) <= set(given.acls)
        assert is_allowed(only, asked) == decision.allowed
    elif decision.allowed:
        alone = given._replace(acls=())
        assert is_allowed(alone, asked)


def index_of(acls: ModuleType, given: tuple[Acl, ...]) -> Any:
    entries: dict[Any, list[Any]] = {}
    for acl in given:
        binding = binding_of(acls, acl)
        entries.setdefault(binding.pattern, []).append(binding.entry)
    return acls.EMPTY_INDEX.replaced(entries)


def binding_of(acls: ModuleType, acl: Acl) -> Any:
    pattern = acls.ResourcePattern(
        acls.ResourceType[acl.resource_type], acl.name, acls.PatternType[acl.pattern_type]
    )
    entry = acls.AclEntry(
        acl.principal, acl.host, acls.Operation[acl.operation], acls.Permission[acl.permission]
    )
    return acls.AclBinding(pattern, entry)


def in_words(binding: Any) -> Acl:
    pattern, entry = binding.pattern, binding.entry
    return Acl(
        pattern.resource_type.name,
        pattern.pattern_type.name,
        pattern.name,
        entry.principal,
        entry.host,
        entry.operation.name,
        entry.permission.name,
    )
