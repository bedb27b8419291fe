"""Settings shown: what is printed is true, and gives the same settings again."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.cli.settings import DraySettings, load_settings, schema_of
from dray.cli.settings.page import as_json, as_markdown, as_yaml
from scripts import generate_docs
from tests.cli.sources import loaded

ENV = {"DRAY_PUMP_PASSWORD": "hunter2", "DRAY_PUMP_LINGER_MS": "10s"}


def test_yaml_shows_values_and_origins() -> None:
    assert as_yaml(loaded("pump:\n  flush_bytes: 1048576\n", ENV, {"--name": "q"})) == (
        "pump:\n"
        '  name: "q"          # flag --name\n'
        "  linger_ms: 10s     # env DRAY_PUMP_LINGER_MS\n"
        "  flush_bytes: 1MiB  # works.yaml:2\n"
        "  workers: 2         # default\n"
        "  ratio: 0.5         # default\n"
        "  eager: false       # default\n"
        "  mode: slow         # default\n"
        "  zone:              # default\n"
        '  password: "***"    # env DRAY_PUMP_PASSWORD\n'
    )


def test_json_shows_plain_numbers_and_no_secret() -> None:
    shown = as_json(loaded(env=ENV))
    assert shown["pump"]["linger_ms"] == {
        "value": 10_000,
        "origin": "environment",
        "from": "env DRAY_PUMP_LINGER_MS",
    }
    assert shown["pump"]["zone"] == {"value": None, "origin": "default", "from": "default"}
    assert "hunter2" not in json.dumps(shown)
    assert '"***"' in json.dumps(shown)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "DRAY_PUMP_NAME": st.text(min_size=1, max_size=9).filter(str.isprintable),
            "DRAY_PUMP_ZONE": st.text(max_size=9).filter(str.isprintable),
            "DRAY_PUMP_LINGER_MS": st.integers(0, 60_000).map(str),
            "DRAY_PUMP_FLUSH_BYTES": st.integers(1024, 2**50).map(str),
            "DRAY_PUMP_RATIO": st.floats(0, 1).map(repr),
            "DRAY_PUMP_MODE": st.sampled_from(["slow", "fast"]),
        },
    )
)
def test_what_is_shown_is_a_settings_file_with_the_same_values(env: dict[str, str]) -> None:
    shown = loaded(env=env)
    assert loaded(as_yaml(shown)).settings == shown.settings


def test_what_dray_shows_is_a_settings_file(tmp_path: Path) -> None:
    shown = load_settings(None, {"DRAY_BROKER_ZONE": "a"}, {}, [])
    (tmp_path / "dray.yaml").write_text(as_yaml(shown))
    assert load_settings(str(tmp_path / "dray.yaml"), {}, {}, []).settings == shown.settings


def test_the_page_has_a_row_for_every_setting() -> None:
    schema = schema_of(DraySettings)
    lines = as_markdown(schema).splitlines()
    for field in schema.fields():
        (row,) = [line for line in lines if line.startswith(f"| `{field.path}` |")]
        assert f"`{field.variable}`" in row
        assert field.description in row


def test_the_page_in_docs_is_not_stale() -> None:
    assert generate_docs.stale(generate_docs.DOCS) == {}


def test_a_stale_page_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(generate_docs, "DOCS", tmp_path)
    assert generate_docs.main(["--check"]) == 1
    assert "SETTINGS.md is stale" in capsys.readouterr().out
    assert generate_docs.main([]) == 0
    assert generate_docs.main(["--check"]) == 0
