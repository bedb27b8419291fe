"""Scenarios by name: the function that plays one, the profile it needs, and the file of its transcript."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.groups.golden.profiles import PROFILES
from tests.groups.golden.script import Backend, Scenario, Script, Stuck

TRANSCRIPTS: Final = Path(__file__).with_name("transcripts")


@dataclass(frozen=True, slots=True)
class Written:
    """A scenario as it is written."""

    name: str
    profile: str
    scenario: Scenario

    @property
    def path(self) -> Path:
        return TRANSCRIPTS / f"{self.name}.txt"

    @property
    def difference_path(self) -> Path:
        return self.path.with_suffix(".diff")

    def recorded(self) -> str:
        """What Apache Kafka did."""
        return self.path.read_text()

    def accepted(self) -> str:
        """How Dray is known to differ from it."""
        return self.difference_path.read_text() if self.difference_path.exists() else ""

    async def play(self, backend: Backend, run: str) -> str:
        """Play it, and return the transcript; one that ends with `NO_ANSWER` could not be played on."""
        script = Script(backend, run)
        script.lines = [f"# {line.strip()}" for line in (self.scenario.__doc__ or "").strip().splitlines()]
        try:
            await self.scenario(script)
            script.check_end()
        except Stuck:
            pass
        except Exception as error:
            error.add_note("\n".join([f"while playing {self.name}, after:", *script.lines[-40:]]))
            raise
        return script.text()


SCENARIOS: Final[dict[str, Written]] = {}


def scenario(profile: str = "plain") -> Callable[[Scenario], Scenario]:
    """Make a function a scenario; its transcript begins with its first words."""
    assert profile in PROFILES

    def write(played: Scenario) -> Scenario:
        module = played.__module__.rpartition(".")[2]
        name = f"{module}/{played.__name__}"
        assert name not in SCENARIOS, f"two scenarios are called {name}"
        SCENARIOS[name] = Written(name, profile, played)
        return played

    return write
