"""The map in docs/ARCHITECTURE.md is the layering that the machine checks, and its stars tell the truth."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def drawn() -> list[list[str]]:
    """The rooms of each line of the map, with their stars."""
    text = (ROOT / "docs" / "ARCHITECTURE.md").read_text()
    block = re.search(r"## The map\n.*?```\n(.*?)```", text, re.DOTALL)
    assert block
    return [re.split(r" \| ", re.split(r"  +", line)[0]) for line in block[1].splitlines()]


def checked() -> list[list[str]]:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(found["layers"] for found in contracts if found["id"] == "rooms")
    return [re.findall(r"\w+", line) for line in layers if line != "(__main__)"]


def test_the_map_shows_the_layers() -> None:
    assert [[room.rstrip("*") for room in line] for line in drawn()] == checked()


def test_a_star_stands_where_there_is_no_room_yet() -> None:
    rooms = [room for line in drawn() for room in line]
    starred = {room.rstrip("*") for room in rooms if room.endswith("*")}
    built = {path.parent.name for path in (ROOT / "src" / "dray").glob("*/__init__.py")}
    assert {room.rstrip("*") for room in rooms} - starred == built
