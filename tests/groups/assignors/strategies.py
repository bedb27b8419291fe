"""Hypothesis strategies for scenes, whose last target need not come from an assignor."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Final

from hypothesis import strategies as st

from dray.groups.assignors import AssignorMember
from dray.groups.commands import Partitions
from tests.groups.assignors.scenes import Scene, small_id

_TOPICS: Final = [small_id(1), bytes([0xFF] * 16), small_id(2**63), bytes([0x7F, *range(15)]), small_id(7)]
"""Includes ids whose halves are negative numbers in Java."""
_DELETED: Final = small_id(99)
_IDS: Final = ("a", "b", "c", "d", "e", "f")
_INSTANCES: Final = st.none() | st.sampled_from(("x", "y", "z"))

counts = st.dictionaries(st.sampled_from(_TOPICS), st.integers(1, 9), max_size=4)
subscriptions = st.frozensets(st.sampled_from([*_TOPICS, _DELETED]))


@st.composite
def scenes(draw: st.DrawFn, *, identical: bool = False, valid: bool = True) -> Scene:
    """Any group; `identical`: with one subscription; not `valid`: with an impossible target."""
    known = draw(counts)
    ids = draw(st.lists(st.sampled_from(_IDS), min_size=1, unique=True))
    same = draw(subscriptions)
    members = {
        member_id: AssignorMember(draw(_INSTANCES), None, same if identical else draw(subscriptions))
        for member_id in ids
    }
    current = draw(valid_targets(known) if valid else invalid_targets)
    return Scene(members, known, current)


@st.composite
def valid_targets(draw: st.DrawFn, known: Mapping[bytes, int]) -> Mapping[str, Partitions]:
    """Every partition, also of a deleted topic, has one owner, which may have left, or none."""
    held: dict[str, dict[bytes, tuple[int, ...]]] = defaultdict(dict)
    owner = st.none() | st.sampled_from(_IDS)
    for topic, count in {**known, _DELETED: 2}.items():
        owners = draw(st.lists(owner, min_size=count, max_size=count))
        for member_id in {one for one in owners if one is not None}:
            held[member_id][topic] = tuple(number for number in range(count) if owners[number] == member_id)
    return held


invalid_targets = st.dictionaries(
    st.sampled_from(_IDS),
    st.dictionaries(
        st.sampled_from([*_TOPICS, _DELETED]),
        st.lists(st.integers(0, 12), max_size=6, unique=True).map(tuple),
    ),
)
"""With partitions that several members own or that do not exist, unordered, and with empty topics."""
