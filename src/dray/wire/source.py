"""Source code of a generated function: its lines, the names they use, and the field of each line.

Generated functions do no bookkeeping for error messages. Each line is recorded with its field; when it
raises, the line number in the traceback identifies the field (`error_location`).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

# Byte offset from the position at that line, and the path of the field that starts there. `{name}` in a path
# stands for the length of the local list of that name, which is the index being decoded.
FieldPaths = tuple[tuple[int, str], ...]


@dataclass(slots=True)
class Source:
    """The text of one function and the names it uses."""

    lines: list[str] = field(default_factory=list)
    names: dict[str, object] = field(default_factory=dict)
    paths: dict[int, FieldPaths] = field(default_factory=dict)
    _depth: int = 0
    _made: int = 0

    def add(self, line: str, *paths: tuple[int, str]) -> None:
        """Add a line; `paths` say which fields it reads or writes."""
        self.lines.append("    " * self._depth + line)
        if paths:
            self.paths[len(self.lines)] = paths

    @contextmanager
    def block(self, opening: str, *paths: tuple[int, str]) -> Iterator[None]:
        """Add a line and indent what follows."""
        self.add(opening, *paths)
        self._depth += 1
        yield
        self._depth -= 1

    def fresh(self, name: str) -> str:
        """Return an unused variable name."""
        self._made += 1
        return f"{name}_{self._made}"

    def use(self, name: str, value: object) -> str:
        """Make `value` available to the function as `name`."""
        assert self.names.setdefault(name, value) == value
        return name

    def text(self) -> str:
        return "\n".join(self.lines) + "\n"
