"""Rules that map the subject of a certificate to the name of a principal (Kafka:
`ssl.principal.mapping.rules`). Pure.

    RULE:^CN=(.*?),OU=Users.*$/$1/L, DEFAULT

The first rule whose pattern matches the whole subject decides: `$1` stands for what its first group matched,
`L` and `U` change the case of the result. `DEFAULT` is the subject itself. Without a matching rule the client
is refused.
"""

import re
from collections.abc import Callable
from typing import Final, NamedTuple

_RULE: Final = "RULE:"
_DEFAULT: Final = "DEFAULT"
_SCANNED: Final = re.compile(r"RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?)")
_REFERENCE: Final = re.compile(r"\\(.)|\$(\d+)", re.DOTALL)
_CASES: Final[dict[str, Callable[[str], str]]] = {"": str, "L": str.lower, "U": str.upper}


class UnmappedSubject(Exception):
    """No rule matches the subject of a certificate."""


class _Rule(NamedTuple):
    """A rule; without a pattern it is `DEFAULT`."""

    pattern: re.Pattern[str] | None
    replacement: str = ""
    case: str = ""

    def apply(self, subject: str) -> str | None:
        if self.pattern is None:
            return subject
        if self.pattern.fullmatch(subject) is None:
            return None
        return _CASES[self.case](self.pattern.sub(self._replaced, subject))

    def _replaced(self, match: re.Match[str]) -> str:
        """Return the replacement of one match; a number beyond the groups is literal text, as in Kafka."""
        groups = match.re.groups

        def value(found: re.Match[str]) -> str:
            escaped, number = found.groups()
            if escaped is not None:
                return str(escaped)
            return (match[int(number)] or "") if int(number) <= groups else found[0]

        return _REFERENCE.sub(value, self.replacement)


class PrincipalRules:
    """A list of rules; raises `ValueError` with a sentence if it is not one."""

    def __init__(self, text: str = _DEFAULT) -> None:
        self._rules = _parsed(text.strip())

    def name_of(self, subject: str) -> str:
        """Return the name that the first matching rule gives; raises `UnmappedSubject`."""
        for rule in self._rules:
            name = rule.apply(subject)
            if name is not None:
                return name
        raise UnmappedSubject(f"no rule of tls.principal_mapping_rules matches the subject {subject!r}")


def _parsed(text: str) -> list[_Rule]:
    rules: list[_Rule] = []
    start = 0
    while start < len(text):
        rule, start = _next(text, start)
        rules.append(rule)
        rest = text[start:].lstrip()
        if rest and not rest.startswith(","):
            raise ValueError(f"expected ',' between two rules, got {rest!r}")
        start = len(text) - len(rest[1:].lstrip())
    return rules


def _next(text: str, start: int) -> tuple[_Rule, int]:
    if text.startswith(_DEFAULT, start):
        return _Rule(None), start + len(_DEFAULT)
    found = _SCANNED.match(text, start)
    if found is None:
        raise ValueError(f"expected {_DEFAULT} or {_RULE}PATTERN/REPLACEMENT/[LU], got {text[start:]!r}")
    pattern, replacement, case = found.groups()
    try:
        return _Rule(re.compile(pattern), replacement, case), found.end()
    except re.error as error:
        raise ValueError(f"the pattern {pattern!r} is not a regular expression: {error}") from None
