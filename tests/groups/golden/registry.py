"""Registry of scenarios: function, profile and transcript file by name."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.groups.golden.profiles import PROFILES
from tests.groups.golden.script import Backend, NoReply, Scenario, Script

TRANSCRIPTS: Final = Path(__file__).with_name("transcripts")


@dataclass(frozen=True, slots=True)
class GoldenScenario:
    """A registered scenario."""

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
        """The transcript of Apache Kafka."""
        return self.path.read_text()

    def accepted(self) -> str:
        """The accepted difference of Dray."""
        return self.difference_path.read_text() if self.difference_path.exists() else ""

    async def play(self, backend: Backend, run: str) -> str:
        """Play the scenario; returns the transcript, which ends with `NO_ANSWER` if a response is missing."""
        script = Script(backend, run)
        script.lines = [f"# {line.strip()}" for line in (self.scenario.__doc__ or "").strip().splitlines()]
        try:
            await self.scenario(script)
            script.check_end()
        except NoReply:
            pass
        except Exception as error:
            error.add_note("\n".join([f"while playing {self.name}, after:", *script.lines[-40:]]))
            raise
        return script.text()


SCENARIOS: Final[dict[str, GoldenScenario]] = {}


def scenario(profile: str = "plain") -> Callable[[Scenario], Scenario]:
    """Register a function as a scenario; its docstring is the heading of the transcript."""
    assert profile in PROFILES

    def write(played: Scenario) -> Scenario:
        module = played.__module__.rpartition(".")[2]
        name = f"{module}/{played.__name__}"
        assert name not in SCENARIOS, f"duplicate scenario {name}"
        SCENARIOS[name] = GoldenScenario(name, profile, played)
        return played

    return write
