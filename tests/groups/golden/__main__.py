"""Command that records transcripts from Apache Kafka, or shows how Dray's differ.

    python -m tests.groups.golden --record [name …]     record the transcripts again
    python -m tests.groups.golden --verify [name …]     record, and only show changes
    python -m tests.groups.golden [name …]              replay on Dray, and show differences
    python -m tests.groups.golden --accept [name …]     replay on Dray, and store explained differences

A name is that of a scenario, or a prefix of several; without names, all are chosen.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from tests.groups.golden.comparing import contradictions, difference
from tests.groups.golden.differences import unexplained
from tests.groups.golden.playbook import SCENARIOS
from tests.groups.golden.profiles import PROFILES
from tests.groups.golden.recording import record
from tests.groups.golden.registry import GoldenScenario
from tests.groups.golden.replaying import replay


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.groups.golden",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", help="scenarios, or prefixes of their names")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--record", action="store_true", help="record the transcripts again")
    action.add_argument("--verify", action="store_true", help="record, and only show changes")
    action.add_argument("--accept", action="store_true", help="store how Dray differs")
    options = parser.parse_args(arguments)
    chosen = [one for one in SCENARIOS.values() if one.name.startswith(tuple(options.names) or "")]
    if options.record or options.verify:
        changed = sum(_record(profile, chosen, write=options.record) for profile in PROFILES)
        return 1 if changed and options.verify else 0
    for scenario in chosen:
        _replay(scenario, accept=options.accept)
    return 0


def _record(profile: str, chosen: list[GoldenScenario], *, write: bool) -> int:
    """Record the scenarios of one profile; returns the number of changed transcripts."""
    scenarios = [one for one in chosen if one.profile == profile]
    if not scenarios:
        return 0
    with tempfile.TemporaryDirectory() as directory:
        texts = record(profile, scenarios, Path(directory))
    changed = [one for one in scenarios if not one.path.exists() or one.recorded() != texts[one.name]]
    for scenario in changed:
        before = scenario.recorded() if scenario.path.exists() else ""
        _say(f"{scenario.name}\n{difference(before, texts[scenario.name])}")
        if write:
            scenario.path.parent.mkdir(parents=True, exist_ok=True)
            scenario.path.write_text(texts[scenario.name])
    _say(f"{profile}: {len(scenarios)} scenarios, {len(changed)} changed\n")
    return len(changed)


def _replay(scenario: GoldenScenario, *, accept: bool) -> None:
    recorded, played = scenario.recorded(), replay(scenario)
    found = difference(recorded, played)
    if found:
        _say(f"{scenario.name}\n{found}\n")
    if accept and unexplained(contradictions(scenario.name, recorded, played)):
        _say(f"{scenario.name}: not accepted: no known difference explains it\n")
    elif accept and found:
        scenario.difference_path.write_text(found)
    elif accept:
        scenario.difference_path.unlink(missing_ok=True)


def _say(text: str) -> None:
    sys.stdout.write(text)


if __name__ == "__main__":
    sys.exit(main())
