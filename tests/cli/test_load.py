"""Values from the three sources, and which of them wins."""

import pytest

from dray.cli.settings.load import load
from dray.cli.settings.problems import Origin, SettingsError
from dray.cli.settings.schema import schema_of
from dray.cli.settings.secret import Secret
from tests.cli.sources import SCHEMA, Pump, Sewers, as_plain, loaded, pump, read_secret


def test_without_sources_everything_is_a_default() -> None:
    result = loaded()
    assert result.settings.pump == Pump()
    assert {str(result.origin(field)) for field in SCHEMA.fields()} == {"default"}


def test_every_kind_of_value_is_read_from_a_file() -> None:
    text = """
pump:
  name: nine
  linger_ms: 5s
  flush_bytes: 1MiB
  workers: 4
  ratio: 0.25
  eager: False
  mode: fast
  zone: no
  password: hunter2
"""
    assert as_plain(pump(text)) == {
        "name": "nine",
        "linger_ms": 5000,
        "flush_bytes": 1 << 20,
        "workers": 4,
        "ratio": 0.25,
        "eager": False,
        "mode": "fast",
        "zone": "no",
        "password": Secret("hunter2"),
    }


def test_flag_beats_environment_beats_file_beats_default() -> None:
    file = "pump:\n  linger_ms: 1\n  workers: 3\n  mode: fast\n"
    env = {"DRAY_PUMP_LINGER_MS": "2ms", "DRAY_PUMP_WORKERS": "4"}
    result = loaded(file, env, pairs=["pump.linger_ms=3"])
    assert as_plain(result.settings.pump) == as_plain(Pump(linger_ms=3, workers=4, mode="fast"))
    assert result.origins == {
        "pump.linger_ms": Origin("flag", "--set"),
        "pump.workers": Origin("environment", "DRAY_PUMP_WORKERS"),
        "pump.mode": Origin("file", "works.yaml", 4),
    }


def test_a_setting_with_its_own_flag() -> None:
    result = loaded(own={"--name": "q"})
    assert result.settings.pump.name == "q"
    assert str(result.origins["pump.name"]) == "flag --name"


@pytest.mark.parametrize(
    "yaml", ["", "---", "pump:", "pump: {}", "pump:\n  zone:\n", "pump: {zone: ~}", "# no\n"]
)
def test_empty_files_sections_and_values(yaml: str) -> None:
    assert pump(yaml) == Pump()


def test_an_empty_value_unsets_what_a_weaker_source_gave() -> None:
    assert pump("pump: {zone: a}", {"DRAY_PUMP_ZONE": ""}).zone is None
    assert pump("pump: {zone: a}", pairs=["pump.zone="]).zone is None


def test_a_quoted_word_stays_text() -> None:
    assert pump("pump: {zone: 'null'}").zone == "null"
    assert pump("pump: {zone: 2024-01-01}").zone == "2024-01-01"
    assert pump("pump: {workers: '3'}").workers == 3


def test_aliases_are_followed() -> None:
    assert pump("pump: {name: &x east, zone: *x}").zone == "east"


def test_a_secret_is_read_from_the_file_it_refers_to() -> None:
    for result in (
        pump("pump: {password: 'file:/run/password'}"),
        pump(env={"DRAY_PUMP_PASSWORD": "file:/run/password"}),
        pump(pairs=["pump.password=file:/run/password"]),
    ):
        assert result.password is not None
        assert result.password.reveal() == "hunter2"


def test_a_required_setting_that_nobody_gives() -> None:
    with pytest.raises(SettingsError, match=r"^drain\.depth is required; expected a whole number$"):
        load(Sewers, schema_of(Sewers), [], read_secret)
