"""Matching of keys and domains with the patterns of the key families. Pure."""

import re
from functools import cache

from dray.keyspace import KEY_FAMILIES
from dray.keyspace.families import KeyFamily


def family_of(key: str) -> KeyFamily | None:
    """Return the family that a key belongs to, or None for a key that Dray does not write."""
    return next((family for family in KEY_FAMILIES if matches(family, key)), None)


def matches(family: KeyFamily, key: str) -> bool:
    return _matcher(family.pattern).fullmatch(key) is not None


def lives_in(family: KeyFamily, domain: str) -> bool:
    """Return whether a domain of this name may hold the family's keys."""
    return _matcher(family.scope).fullmatch(domain) is not None


@cache
def _matcher(pattern: str) -> re.Pattern[str]:
    return re.compile("[^/]*".join(map(re.escape, re.split("<[a-z ]+>", pattern))))
