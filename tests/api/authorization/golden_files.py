"""The recorded answers: a file for each API, with the users who get the same answer together.

## v9, by name
no-ACL, TOPIC-READ
  topics[exact].partitions[0]  error_code=TOPIC_AUTHORIZATION_FAILED
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from tests.api.authorization.rendering import Answer

GOLDEN: Final = Path(__file__).with_name("golden")
_INDENT: Final = "  "
_WIDTH: Final = 110


class Asked(NamedTuple):
    """One request of the matrix."""

    version: int
    label: str

    def __str__(self) -> str:
        return f"v{self.version}, {self.label}"


Answers: TypeAlias = dict[Asked, dict[str, Answer]]
"""The answers to the requests of one API, by user."""


def written(answers: Answers) -> str:
    return "\n".join(line for asked, by_user in answers.items() for line in _section(asked, by_user))


def _section(asked: Asked, by_user: Mapping[str, Answer]) -> Iterable[str]:
    yield f"## {asked}"
    groups: dict[Answer, list[str]] = {}
    for user, answer in by_user.items():
        groups.setdefault(answer, []).append(user)
    for answer, users in groups.items():
        yield ", ".join(users)
        yield from (f"{_INDENT}{line}" for line in answer)
    yield ""


def read(text: str) -> Answers:
    answers: Answers = {}
    users: list[str] = []
    by_user: dict[str, Answer] = {}
    for line in text.splitlines():
        if line.startswith("## "):
            version, _, label = line[4:].partition(", ")
            by_user = answers.setdefault(Asked(int(version), label), {})
        elif line.startswith(_INDENT):
            for user in users:
                by_user[user] = (*by_user[user], line.removeprefix(_INDENT))
        elif line:
            users = line.split(", ")
            by_user.update(dict.fromkeys(users, ()))
    return answers


def path_of(api: str) -> Path:
    return GOLDEN / f"{api}.txt"
