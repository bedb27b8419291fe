"""Printed settings: they are correct, and reading them gives the same settings."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.settings import DraySettings, load_settings, schema_of
from dray.settings.page import as_json, as_yaml
from scripts import generate_docs, settings_page
from tests.settings.sources import loaded

ENV = {"DRAY_WRITER_PASSWORD": "hunter2", "DRAY_WRITER_LINGER_MS": "10s"}


def test_yaml_contains_values_and_origins() -> None:
    assert as_yaml(loaded("writer:\n  flush_bytes: 1048576\n", ENV, {"--name": "q"})) == (
        "writer:\n"
        '  name: "q"          # flag --name\n'
        "  linger_ms: 10s     # env DRAY_WRITER_LINGER_MS\n"
        "  flush_bytes: 1MiB  # dray.yaml:2\n"
        "  workers: 2         # default\n"
        "  ratio: 0.5         # default\n"
        "  eager: false       # default\n"
        "  mode: slow         # default\n"
        "  zone:              # default\n"
        '  password: "***"    # env DRAY_WRITER_PASSWORD\n'
    )


def test_json_contains_plain_numbers_and_no_secret() -> None:
    shown = as_json(loaded(env=ENV))
    assert shown["writer"]["linger_ms"] == {
        "value": 10_000,
        "origin": "environment",
        "from": "env DRAY_WRITER_LINGER_MS",
    }
    assert shown["writer"]["zone"] == {"value": None, "origin": "default", "from": "default"}
    assert "hunter2" not in json.dumps(shown)
    assert '"***"' in json.dumps(shown)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "DRAY_WRITER_NAME": st.text(min_size=1, max_size=9).filter(str.isprintable),
            "DRAY_WRITER_ZONE": st.text(max_size=9).filter(str.isprintable),
            "DRAY_WRITER_LINGER_MS": st.integers(0, 60_000).map(str),
            "DRAY_WRITER_FLUSH_BYTES": st.integers(1024, 2**50).map(str),
            "DRAY_WRITER_RATIO": st.floats(0, 1).map(repr),
            "DRAY_WRITER_MODE": st.sampled_from(["slow", "fast"]),
        },
    )
)
def test_yaml_round_trips_as_a_settings_file(env: dict[str, str]) -> None:
    shown = loaded(env=env)
    assert loaded(as_yaml(shown)).settings == shown.settings


def test_yaml_of_all_settings_round_trips(tmp_path: Path) -> None:
    shown = load_settings(None, {"DRAY_BROKER_ZONE": "a"}, {}, [])
    (tmp_path / "dray.yaml").write_text(as_yaml(shown))
    assert load_settings(str(tmp_path / "dray.yaml"), {}, {}, []).settings == shown.settings


def test_page_has_a_row_for_every_setting() -> None:
    schema = schema_of(DraySettings)
    lines = settings_page.as_markdown(schema).splitlines()
    for field in schema.fields():
        (row,) = [line for line in lines if line.startswith(f"| `{field.path}` |")]
        assert f"`{field.variable}`" in row
        assert field.description in row


def test_pages_in_docs_are_current() -> None:
    assert generate_docs.stale(generate_docs.DOCS) == {}


def test_stale_page_is_reported_and_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(generate_docs, "DOCS", tmp_path)
    assert generate_docs.main(["--check"]) == 1
    assert "SETTINGS.md is stale" in capsys.readouterr().out
    assert generate_docs.main([]) == 0
    assert generate_docs.main(["--check"]) == 0
