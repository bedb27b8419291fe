"""Super users: principals that may do everything."""

from dray.ids import Principal


def super_users(text: str) -> frozenset[str]:
    """Parse principals separated by semicolons; `ValueError` if one is invalid."""
    given = (part.strip() for part in text.split(";"))
    return frozenset(Principal.parse(part).text for part in given if part)
