"""What becomes of a group when it is asked something: the pure machines' outcomes, made ready for the store.

A `Step` is an ask with everything it needs but the group. It is a plain function: it may be called again on a
newer group when another broker was faster, and only the last call counts.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from dray.groups.group import Doomed, Group
from dray.groups.outcome import Parked
from dray.meta.port import Write

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Decision(Generic[R]):
    """The group as it is to be stored, with other writes of the same commit, and what to answer then."""

    group: Group | Doomed | None
    reply: R | Parked
    writes: tuple[Write, ...] = ()


Step: TypeAlias = Callable[[Group | None], Decision[R]]
