"""The settings of Dray themselves."""

import re
from pathlib import Path

import pytest

from dray.cli.settings import DraySettings, SettingsError, load_settings, schema_of
from dray.cli.settings.sources import OTHER_VARIABLES
from dray.cluster.identity_plan import CLUSTER_ID_PATTERN

SCHEMA = schema_of(DraySettings)


def test_every_setting_is_described_in_a_sentence() -> None:
    for field in SCHEMA.fields():
        assert re.fullmatch(r"[A-Z].*\.", field.description), field.path


def test_every_section_says_what_it_is() -> None:
    assert all(section.intro for section in SCHEMA.sections.values())


def test_variables_and_flags_are_told_apart() -> None:
    fields = list(SCHEMA.fields())
    variables = [field.variable for field in fields]
    flags = [field.flag for field in fields if field.flag is not None]
    assert len({*variables, *OTHER_VARIABLES}) == len(variables) + len(OTHER_VARIABLES)
    assert len(set(flags)) == len(flags)


def test_a_default_is_what_its_own_text_reads_as() -> None:
    given = {
        field.variable: field.shown(field.default) for field in SCHEMA.fields() if field.default is not None
    }
    assert load_settings(None, given, {}, []).settings == load_settings(None, {}, {}, []).settings


def test_the_data_directory_stands_in_the_stores_urls() -> None:
    settings = load_settings(None, {}, {"--data-dir": "/d"}, ["storage.url=file:{data_dir}/x"]).settings
    assert settings.metadata.url == "sqlite:/d/metadata.sqlite"
    assert settings.storage.url == "file:/d/x"


@pytest.mark.parametrize(
    "url", ["memory:", "file:/x", "s3://bkt", "s3://bkt/p/q", "gs://bkt/p", "az://cnt/p"]
)
def test_good_storage_urls(url: str) -> None:
    assert load_settings(None, {}, {"--storage": url}, []).settings.storage.url == url


@pytest.mark.parametrize(
    "url", ["memory", "file:", "s3:", "s3://", "s3://k:v@b", "s3://b?x", "http://b", "/x", "sqlite:x"]
)
def test_wrong_storage_urls(url: str) -> None:
    with pytest.raises(SettingsError, match=r"^flag --storage: storage\.url: .* s3://BUCKET/PREFIX"):
        load_settings(None, {}, {"--storage": url}, [])


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        (["storage.access_key_id=a"], "flag --set: storage: access_key_id and secret_access_key go together"),
        (
            ["storage.endpoint=http://x:1"],
            "flag --set: storage: the endpoint is http:// but allow_http is false",
        ),
        (
            ["storage.url=s3://b/p"],
            "flag --set: storage: 's3://b/p': 'b' is no name of a bucket or container",
        ),
        (["metadata.url=postgres:x"], "expected sqlite:PATH or memory:"),
        (["cluster.id=short"], "expected 22 characters of base64url"),
        (["log.linger_ms=-1"], "at least 0"),
    ],
)
def test_settings_that_do_not_go(pairs: list[str], expected: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load_settings(None, {}, {}, pairs)
    assert expected in str(caught.value)


def test_a_data_directory_that_makes_a_wrong_url() -> None:
    with pytest.raises(
        SettingsError, match=r"^flag --data-dir: broker\.data_dir makes a wrong URL: .*'host'"
    ):
        load_settings(None, {}, {"--data-dir": "//host"}, [])


@pytest.mark.parametrize("given", ["sqlite:here/metadata.sqlite", "sqlite:./here/../here/metadata.sqlite"])
def test_the_catalogue_is_not_the_metadata_store(given: str) -> None:
    flags = {"--data-dir": "here", "--catalog": given}
    with pytest.raises(SettingsError, match=r"^flag --catalog: tables\.catalog is the metadata store"):
        load_settings(None, {}, flags, [])


def test_keys_and_an_http_endpoint_can_be_given(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("hunter2\n")
    (tmp_path / "dray.yaml").write_text(
        f"storage:\n  endpoint: http://127.0.0.1:1\n  allow_http: true\n  access_key_id: a\n"
        f"  secret_access_key: file:{tmp_path / 'key'}\n"
    )
    storage = load_settings(str(tmp_path / "dray.yaml"), {}, {}, []).settings.storage
    assert storage.secret_access_key is not None
    assert storage.secret_access_key.reveal() == "hunter2"


def test_a_settings_file_that_cannot_be_read(tmp_path: Path) -> None:
    for path, reason in ((tmp_path / "none.yaml", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(SettingsError, match=f"^{path}: the settings file cannot be read: {reason}"):
            load_settings(str(path), {}, {}, [])


def test_a_secret_in_a_file_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"\xff\xfe")
    with pytest.raises(SettingsError, match="does not hold text"):
        load_settings(None, {"DRAY_STORAGE_SECRET_ACCESS_KEY": f"file:{tmp_path / 'key'}"}, {}, [])


def test_the_cluster_id_is_checked_as_the_cluster_checks_it() -> None:
    assert CLUSTER_ID_PATTERN in str(SCHEMA.sections["cluster"].fields["id"].annotation)
