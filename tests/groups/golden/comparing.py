"""Comparison of two transcripts of one scenario, Apache Kafka's and Dray's, step by step.

A step is a block of lines: a request and its response. A step that only one of the two has (a call that Kafka
leaves pending and Dray answers) stands alone; all others are compared in pairs.
"""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest

from tests.groups.golden.rendering import SAYS


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A step that differs."""

    scenario: str
    step: str
    """The first line of the step in Kafka's transcript, or in Dray's if Kafka's has none."""
    kafka: str
    dray: str

    @property
    def only_wording(self) -> bool:
        """Whether the steps differ only in the wording of messages."""
        return _without_wording(self.kafka) == _without_wording(self.dray)

    def __str__(self) -> str:
        return f"{self.scenario}: {self.step}\n{difference(self.kafka, self.dray)}"


def contradictions(scenario: str, kafka: str, dray: str) -> Iterator[Contradiction]:
    theirs, ours = _steps(kafka), _steps(dray)
    matched = difflib.SequenceMatcher(None, theirs, ours, autojunk=False)
    for kind, *span in matched.get_opcodes():
        if kind != "equal":
            for one, other in zip_longest(theirs[span[0] : span[1]], ours[span[2] : span[3]], fillvalue=""):
                yield Contradiction(scenario, (one or other).partition("\n")[0], one, other)


def difference(kafka: str, dray: str) -> str:
    """Return a unified diff of two texts; empty if they are equal."""
    lines = difflib.unified_diff(kafka.splitlines(), dray.splitlines(), "kafka", "dray", lineterm="")
    return "".join(f"{line}\n" for line in lines)


def _without_wording(step: str) -> list[str]:
    return [SAYS if line.lstrip().startswith(SAYS) else line for line in step.splitlines()]


def _steps(transcript: str) -> list[str]:
    return transcript.rstrip("\n").split("\n\n")
