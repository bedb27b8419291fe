"""Decisions agree with the rules as documented; every rule has a mutant that this comparison finds."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import dray.acls
from dray.ids import Principal
from tests.acls.agreement import agree, binding_of, cases, index_of
from tests.acls.rules import Acl, Question, Rules

CASES = 5_000
MUTANTS = {
    **{
        f"decisions are remembered whatever the {part}": (
            "authorizer",
            "self._decisions.get(asked)",
            (
                "next((decision for key, decision in self._decisions.items() "
                f"if key[:{place}] + key[{place + 1}:] == asked[:{place}] + asked[{place + 1}:]), None)"
            ),
        )
        for place, part in enumerate(("principal", "host", "operation", "type", "name"))
    },
    "super users are asked for ACLs": ("authorizer", "if principal_text in self._super_users:", "if False:"),
    "super users have no authorized operations": (
        "authorizer",
        "if principal_text in self._super_users or (not matching",
        "if (not matching",
    ),
    "resources without ACLs are denied": ("authorizer", "return self._without_acls", "return _DENIED"),
    "the default is allowed in spite of ACLs": ("authorizer", "allowed = _DENIED\n", "allowed = _ALLOWED\n"),
    "the last rule decides": (
        "authorizer",
        "if not rule.decision.allowed:\n                        return rule.decision\n",
        "",
    ),
    "the first rule decides": ("authorizer", "allowed = rule.decision\n", "return rule.decision\n"),
    "hosts are ignored": ("authorizer", "& wanted and rule.host in (host, WILDCARD)", "& wanted"),
    "hosts have no wildcard": ("authorizer", "rule.host in (host, WILDCARD)", "rule.host == host"),
    "hosts are ignored elsewhere": ("index", "return self.host in (host, WILDCARD)", "return True"),
    "principals have no wildcard": ("authorizer", "rules.get(WILDCARD_PRINCIPAL)", "None"),
    "shared rules hide one's own": ("authorizer", "else own + shared", "else shared"),
    "one's own rules hide shared ones": ("authorizer", "own if shared is None else own + shared", "own"),
    "the wildcard matches no name": ("index", "for literal in (name, WILDCARD)", "for literal in (name,)"),
    "literal patterns do not match": (
        "index",
        "for literal in (name, WILDCARD)",
        "for literal in (WILDCARD,)",
    ),
    "prefixes do not match": ("index", "if rules is not None:", "if False:"),
    "a prefix does not match itself": ("index", "if length > longest", "if length >= longest"),
    "only the shortest prefix matches": ("index", "found.append(rules)", "return [*found, rules]"),
    "prefixes are literal": (
        "index",
        "held = prefixes if pattern.pattern_type is PatternType.PREFIXED else literals",
        "held = literals",
    ),
    "types are mixed": (
        "index",
        "patterns = self._types[resource_type]\n        literals",
        "patterns = self._types[2]\n        literals",
    ),
    "all covers nothing else": ("operations", "if entry.operation is Operation.ALL:", "if False:"),
    "deny implies": ("operations", "entry.permission is Permission.ALLOW and ", ""),
    "denied operations remain": ("authorizer", "supported & allowed & ~denied", "supported & allowed"),
    "unsupported operations are returned": ("authorizer", "supported & allowed", "allowed"),
    "no resource is probed": ("authorizer", "if decision.allowed:", "if False:"),
    "the probe has another name": ("authorizer", '_PROBE: Final = "hardcode"', '_PROBE: Final = "other"'),
    "the wildcard does not dominate": ("authorizer", "if everything in denying:", "if False:"),
    "a literal does not dominate itself": ("authorizer", "if pattern in denying:", "if False:"),
    "prefixes dominate the wildcard": (
        "authorizer",
        "if pattern == ResourcePattern(pattern.resource_type, WILDCARD):",
        "if False:",
    ),
    "prefixes do not dominate": (
        "authorizer",
        "return any(\n        Res",
        "return False and any(\n        Res",
    ),
    "a prefix does not dominate itself": ("authorizer", "len(pattern.name) + 1", "len(pattern.name)"),
    "implied operations count for a type": (
        "authorizer",
        "rule.binding.entry.operation in (operation, Operation.ALL)",
        "rule.operations >> operation & 1",
    ),
    "all does not count for a type": (
        "authorizer",
        "in (operation, Operation.ALL) and",
        "in (operation,) and",
    ),
} | {
    f"{operation.lower()} does not imply": (
        "operations",
        f"    Operation.{operation}: Operation.{implied},\n",
        "",
    )
    for operation, implied in (
        ("READ", "DESCRIBE"),
        ("WRITE", "DESCRIBE"),
        ("DELETE", "DESCRIBE"),
        ("ALTER", "DESCRIBE"),
        ("ALTER_CONFIGS", "DESCRIBE_CONFIGS"),
    )
}


def compare(package: ModuleType, seed: int, count: int) -> None:
    for some, asked in cases(seed, count):
        agree(package, some, asked)


def test_decisions_are_those_of_the_documented_rules() -> None:
    compare(dray.acls, seed=1, count=CASES)


def test_an_index_that_was_changed_decides_as_a_new_one() -> None:
    index = dray.acls.EMPTY_INDEX
    known: set[dray.acls.ResourcePattern] = set()
    for some, asked in cases(seed=2, count=500):
        changes: dict[dray.acls.ResourcePattern, list[dray.acls.AclEntry]] = {one: [] for one in known}
        for acl in some.acls:
            binding = binding_of(dray.acls, acl)
            changes.setdefault(binding.pattern, []).append(binding.entry)
        index, known = index.replaced(changes), known | changes.keys()
        fresh = index_of(dray.acls, some.acls)
        for kind in dray.acls.ResourceType:
            assert index.matching(kind, asked.name) == fresh.matching(kind, asked.name)
            assert sorted(map(str, index.of_type(kind))) == sorted(map(str, fresh.of_type(kind)))


def test_an_index_does_not_change_with_its_successor() -> None:
    acl = Acl("TOPIC", "PREFIXED", "a", "User:x", "*", "READ", "ALLOW")
    first = index_of(dray.acls, (acl,))
    first.replaced({binding_of(dray.acls, acl).pattern: ()})
    agreed = Rules((acl,), frozenset(), allow_without_acls=False)
    authorizer = dray.acls.Authorizer(first, frozenset(), allow_without_acls=False)
    principal = Principal.user("x")
    topic, read = dray.acls.ResourceType.TOPIC, dray.acls.Operation.READ
    assert authorizer.decide(principal, "10.0.0.1", read, topic, "ab").allowed
    agree(dray.acls, agreed, Question("User:x", "10.0.0.1", "READ", "TOPIC", "ab"))


def test_number_of_remembered_decisions_and_their_size_are_bounded() -> None:
    authorizer = dray.acls.Authorizer(dray.acls.EMPTY_INDEX, frozenset(), allow_without_acls=False)
    alice, topic, read = Principal.user("alice"), dray.acls.ResourceType.TOPIC, dray.acls.Operation.READ
    for number in range(2_500):
        assert not authorizer.decide(alice, "10.0.0.1", read, topic, f"{number}").allowed
        assert not authorizer.decide(alice, "10.0.0.1", read, topic, f"{number}".zfill(300)).allowed
    assert len(authorizer._decisions) <= 1_000
    assert max(len(name) for *_, name in authorizer._decisions) < 300


@pytest.fixture
def mutants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a folder for packages that can be imported; they are forgotten after the test."""
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def mutant(folder: Path, number: int, module: str, old: str, new: str) -> ModuleType:
    """Return a copy of the package with one change."""
    name = f"mutant_acls_{number}"
    package = folder / name
    package.mkdir()
    for file in Path(str(dray.acls.__file__)).parent.glob("*.py"):
        text = file.read_text()
        if file.stem == module:
            assert old in text, "the mutant does not apply to the source any more"
            text = text.replace(old, new, 1)
        (package / file.name).write_text(text.replace("dray.acls", name))
    return importlib.import_module(name)


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_found(name: str, mutants: Path) -> None:
    package = mutant(mutants, list(MUTANTS).index(name), *MUTANTS[name])

    with pytest.raises(AssertionError):
        compare(package, seed=3, count=10 * CASES)
