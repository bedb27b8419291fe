"""The locks name no address, pin and hash everything, and cover what the project asks for."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PINNED = re.compile(r"^([a-z0-9][a-z0-9._-]*)==(\S+)( ;[^\\]*)? \\$")
HASH = re.compile(r"^    --hash=sha256:[0-9a-f]{64}( \\)?$")
ORIGIN = re.compile(r"^    #( |$)")

LOCKS = ["runtime", "dev"]


def lines(name: str) -> list[str]:
    return (ROOT / "requirements" / name).read_text().splitlines()


def locked(name: str) -> dict[str, str]:
    return {match[1]: match[2] for line in lines(f"{name}.txt") if (match := PINNED.match(line))}


def normal(requirement: str) -> str:
    name = re.split(r"[<>=!~\[; ]", requirement)[0]
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.parametrize("name", LOCKS)
def test_every_line_is_a_pin_a_hash_or_an_origin(name: str) -> None:
    strange = [x for x in lines(f"{name}.txt") if not any(p.match(x) for p in (PINNED, HASH, ORIGIN))]
    assert strange == []


@pytest.mark.parametrize("name", LOCKS)
def test_every_pin_is_followed_by_a_hash(name: str) -> None:
    text = lines(f"{name}.txt")
    pins = [number for number, line in enumerate(text) if PINNED.match(line)]
    assert pins
    assert all(HASH.match(text[number + 1]) for number in pins)


@pytest.mark.parametrize("name", LOCKS)
def test_what_is_asked_for_is_locked(name: str) -> None:
    asked = {normal(line) for line in lines(f"{name}.in") if not line.startswith("-r")}
    assert asked <= locked(name).keys()


def test_both_locks_agree() -> None:
    assert locked("runtime").items() <= locked("dev").items()


def test_the_project_asks_for_the_same_packages_as_the_runtime_lock() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {normal(x) for x in project["dependencies"]} == {normal(x) for x in lines("runtime.in")}
