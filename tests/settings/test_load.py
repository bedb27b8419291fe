"""Values from the three sources, and their precedence."""

from pathlib import Path

import pytest

from dray.settings import load_settings
from dray.settings.load import load
from dray.settings.problems import Origin, SettingsError
from dray.settings.schema import schema_of
from dray.settings.secret import Secret
from tests.settings.sources import SCHEMA, RequiredTree, Writer, as_plain, loaded, read_secret, writer


def test_defaults_without_sources() -> None:
    result = loaded()
    assert result.settings.writer == Writer()
    assert {str(result.origin(field)) for field in SCHEMA.fields()} == {"default"}


def test_every_kind_of_value_is_read_from_a_file() -> None:
    text = """
writer:
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
    assert as_plain(writer(text)) == {
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


def test_flag_overrides_environment_overrides_file_overrides_default() -> None:
    file = "writer:\n  linger_ms: 1\n  workers: 3\n  mode: fast\n"
    env = {"DRAY_WRITER_LINGER_MS": "2ms", "DRAY_WRITER_WORKERS": "4"}
    result = loaded(file, env, pairs=["writer.linger_ms=3"])
    assert as_plain(result.settings.writer) == as_plain(Writer(linger_ms=3, workers=4, mode="fast"))
    assert result.origins == {
        "writer.linger_ms": Origin("flag", "--set"),
        "writer.workers": Origin("environment", "DRAY_WRITER_WORKERS"),
        "writer.mode": Origin("file", "dray.yaml", 4),
    }


def test_setting_is_set_by_its_own_flag() -> None:
    result = loaded(own={"--name": "q"})
    assert result.settings.writer.name == "q"
    assert str(result.origins["writer.name"]) == "flag --name"


@pytest.mark.parametrize(
    "yaml", ["", "---", "writer:", "writer: {}", "writer:\n  zone:\n", "writer: {zone: ~}", "# no\n"]
)
def test_empty_files_sections_and_values(yaml: str) -> None:
    assert writer(yaml) == Writer()


def test_empty_value_unsets_the_value_of_a_weaker_source() -> None:
    assert writer("writer: {zone: a}", {"DRAY_WRITER_ZONE": ""}).zone is None
    assert writer("writer: {zone: a}", pairs=["writer.zone="]).zone is None


def test_scalar_keeps_its_text() -> None:
    assert writer("writer: {zone: 'null'}").zone == "null"
    assert writer("writer: {zone: 2024-01-01}").zone == "2024-01-01"
    assert writer("writer: {workers: '3'}").workers == 3


def test_aliases_are_followed() -> None:
    assert writer("writer: {name: &x east, zone: *x}").zone == "east"


def test_secret_is_read_from_the_referenced_file() -> None:
    for result in (
        writer("writer: {password: 'file:/run/password'}"),
        writer(env={"DRAY_WRITER_PASSWORD": "file:/run/password"}),
        writer(pairs=["writer.password=file:/run/password"]),
    ):
        assert result.password is not None
        assert result.password.reveal() == "hunter2"


def test_missing_required_setting_is_reported() -> None:
    with pytest.raises(
        SettingsError, match=r"^reader\.depth is required; expected integer, at most 2147483647$"
    ):
        load(RequiredTree, schema_of(RequiredTree), [], read_secret)


class TestSecretFiles:
    def test_key_with_file_names_the_file_in_every_source(self) -> None:
        for result in (
            writer("writer: {password_file: /run/password}"),
            writer(env={"DRAY_WRITER_PASSWORD_FILE": "/run/password"}),
            writer(pairs=["writer.password_file=/run/password"]),
        ):
            assert result.password is not None
            assert result.password.reveal() == "hunter2"

    def test_stronger_source_overrides_in_either_form(self) -> None:
        by_file = writer("writer: {password: other}", {"DRAY_WRITER_PASSWORD_FILE": "/run/password"})
        by_text = writer("writer: {password_file: /run/password}", {"DRAY_WRITER_PASSWORD": "other"})
        assert [one.password and one.password.reveal() for one in (by_file, by_text)] == ["hunter2", "other"]
        assert (
            writer("writer: {password_file: /run/password}", {"DRAY_WRITER_PASSWORD_FILE": ""}).password
            is None
        )

    def test_both_forms_in_one_source_are_refused(self) -> None:
        both = r"writer\.password and writer\.password_file are both set; set one of them"
        with pytest.raises(SettingsError, match=rf"dray\.yaml:3: {both}"):
            writer("writer:\n  password: hunter2\n  password_file: /run/password\n")
        environ = {"DRAY_WRITER_PASSWORD": "hunter2", "DRAY_WRITER_PASSWORD_FILE": "/run/password"}
        with pytest.raises(SettingsError, match=rf"env DRAY_WRITER_PASSWORD_FILE: {both}") as refusal:
            writer(env=environ)
        assert "hunter2" not in str(refusal.value)

    def test_missing_file_is_named(self) -> None:
        with pytest.raises(
            SettingsError, match=r"PASSWORD_FILE: writer\.password: cannot read .*'/run/none'"
        ):
            writer(env={"DRAY_WRITER_PASSWORD_FILE": "/run/none"})

    def test_other_settings_have_no_file(self) -> None:
        with pytest.raises(SettingsError, match=r"unknown setting writer\.zone_file"):
            writer("writer: {zone_file: /run/password}")
        with pytest.raises(SettingsError, match=r"unknown variable.*did you mean DRAY_WRITER_PASSWORD_FILE"):
            writer(env={"DRAY_WRITER_PASWORD_FILE": "/run/password"})


def test_files_with_secrets_that_others_can_read_are_noted(tmp_path: Path) -> None:
    mine, ours, public, config = (tmp_path / name for name in ("mine", "ours", "public", "a.yaml"))
    for path, mode in ((mine, 0o600), (ours, 0o640), (public, 0o644), (config, 0o644)):
        path.write_text("hunter2")
        path.chmod(mode)
    for path, exposed in ((mine, ()), (ours, ()), (public, (str(public),))):
        environ = {"DRAY_METADATA_USERNAME": "dray", "DRAY_METADATA_PASSWORD_FILE": str(path)}
        assert load_settings(None, environ, {}, []).exposed == exposed
    for text, noted in (("token: hunter2", (str(config),)), (f"token_file: {mine}", ()), ("scope: x", ())):
        config.write_text(f"tables: {{{text}}}")
        assert load_settings(str(config), {}, {}, []).exposed == noted
