"""Which protocols members share, however long their lists are."""

from time import process_time

from dray.groups.classic.protocols import select
from dray.groups.classic.state import Member

_MANY = 20_000
_CPU_SECONDS = 1.0
"""A loop in a loop takes ten times that."""


def _member(name: str, protocols: list[str]) -> Member:
    return Member(name, None, "c", "h", 1, 1, tuple((one, b"") for one in protocols), 1)


def test_each_votes_for_the_one_it_likes_best_of_those_all_know() -> None:
    members = [_member("a", ["x", "y", "z"]), _member("b", ["z", "y"]), _member("c", ["y", "w", "z"])]
    assert select(members) == "y"


def test_long_lists_take_no_time_to_speak_of() -> None:
    names = [f"p{number}" for number in range(_MANY)]
    members = [_member("a", names), _member("b", names[::-1])]
    began = process_time()
    assert select(members) == "p0"
    assert process_time() - began < _CPU_SECONDS
