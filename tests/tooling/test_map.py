"""Package map of docs/ARCHITECTURE.md, compared with the checked layers."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def drawn() -> list[list[str]]:
    """Return the packages of each line of the map; a star marks a package that does not exist yet."""
    text = (ROOT / "docs" / "ARCHITECTURE.md").read_text()
    block = re.search(r"## Packages\n.*?```\n(.*?)```", text, re.DOTALL)
    assert block
    return [re.split(r" \| ", re.split(r"  +", line)[0]) for line in block[1].splitlines()]


def checked() -> list[list[str]]:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(found["layers"] for found in contracts if found["id"] == "packages")
    return [re.findall(r"\w+", line) for line in layers if line != "(__main__)"]


def test_map_shows_the_layers() -> None:
    assert [[package.rstrip("*") for package in line] for line in drawn()] == checked()


def test_star_marks_a_package_that_does_not_exist_yet() -> None:
    packages = [package for line in drawn() for package in line]
    starred = {package.rstrip("*") for package in packages if package.endswith("*")}
    source = ROOT / "src" / "dray"
    built = {path.parent.name for path in source.glob("*/__init__.py")}
    built |= {path.stem for path in source.glob("*.py") if not path.stem.startswith("__")}
    assert {package.rstrip("*") for package in packages} - starred == built
