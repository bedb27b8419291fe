"""Python source that is being written: lines, the names they use, and which line is for which field.

Generated functions carry no bookkeeping for error messages. Instead every line remembers its field, and when
one raises, the traceback's line number tells the field (`located.py`).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

# Byte offset from the position at that line, and the path of the field that begins there. `{name}` in a path
# stands for the number of elements in the local list of that name, which is the index being read.
Places = tuple[tuple[int, str], ...]


@dataclass(slots=True)
class Source:
    """The text of one function and what it needs to run."""

    lines: list[str] = field(default_factory=list)
    names: dict[str, object] = field(default_factory=dict)
    places: dict[int, Places] = field(default_factory=dict)
    _depth: int = 0
    _made: int = 0

    def add(self, line: str, *places: tuple[int, str]) -> None:
        """Add a line; `places` say which fields it reads or writes."""
        self.lines.append("    " * self._depth + line)
        if places:
            self.places[len(self.lines)] = places

    @contextmanager
    def block(self, opening: str, *places: tuple[int, str]) -> Iterator[None]:
        """Add a line and indent what follows."""
        self.add(opening, *places)
        self._depth += 1
        yield
        self._depth -= 1

    def fresh(self, name: str) -> str:
        """Return a variable name that is not in use."""
        self._made += 1
        return f"{name}_{self._made}"

    def use(self, name: str, value: object) -> str:
        """Make `value` known to the function under `name`."""
        assert self.names.setdefault(name, value) == value
        return name

    def text(self) -> str:
        return "\n".join(self.lines) + "\n"
