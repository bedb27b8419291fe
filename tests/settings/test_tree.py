"""The settings of Dray: descriptions, defaults and constraints."""

import re
from pathlib import Path

import pytest

from dray.client import Admin, ClientConfig
from dray.client.topics import create_topic
from dray.cluster.identity_plan import CLUSTER_ID_PATTERN
from dray.settings import DraySettings, SettingsError, load_settings, schema_of
from dray.settings.sources import OTHER_VARIABLES
from dray.testing import broker

SCHEMA = schema_of(DraySettings)


def test_every_setting_has_a_description() -> None:
    for field in SCHEMA.fields():
        assert re.fullmatch(r"[A-Z].*\.", field.description), field.path


def test_every_section_has_an_introduction() -> None:
    assert all(section.intro for section in SCHEMA.sections.values())


def test_variables_and_flags_are_unique() -> None:
    fields = list(SCHEMA.fields())
    variables = [field.variable for field in fields]
    flags = [field.flag for field in fields if field.flag is not None]
    assert len({*variables, *OTHER_VARIABLES}) == len(variables) + len(OTHER_VARIABLES)
    assert len(set(flags)) == len(flags)


def test_printed_defaults_round_trip() -> None:
    given = {
        field.variable: field.shown(field.default) for field in SCHEMA.fields() if field.default is not None
    }
    assert load_settings(None, given, {}, []).settings == load_settings(None, {}, {}, []).settings


def test_broker_runs_with_the_upper_bound_of_every_number(tmp_path: Path) -> None:
    """No bound is more than timers, stores and libraries can hold."""
    largest = {
        field.path: str(field.largest)
        for field in SCHEMA.fields()
        if field.largest is not None and not field.path.startswith(("cluster.", "kafka.num_partitions"))
    }
    stores = {
        "metadata.url": f"sqlite:{tmp_path}/metadata.sqlite",
        "storage.url": f"file:{tmp_path}/objects",
        "groups.consumer_heartbeat_interval_ms": str(2**31 - 2),
        "groups.consumer_min_heartbeat_interval_ms": "1",
        "log.linger_ms": "0",
    }
    with broker(largest | stores) as kafka:
        admin = Admin.connect(ClientConfig(kafka.bootstrap))
        assert create_topic(admin, "orders", 1, {}) == 1


def test_data_dir_is_substituted_in_store_urls() -> None:
    settings = load_settings(None, {}, {"--data-dir": "/d"}, ["storage.url=file:{data_dir}/x"]).settings
    assert settings.metadata.url == "sqlite:/d/metadata.sqlite"
    assert settings.storage.url == "file:/d/x"


@pytest.mark.parametrize(
    "url", ["memory:", "file:/x", "s3://bkt", "s3://bkt/p/q", "gs://bkt/p", "az://cnt/p"]
)
def test_valid_storage_url_is_accepted(url: str) -> None:
    loaded = load_settings(None, {}, {"--storage": url}, ["storage.account=a"])
    assert loaded.settings.storage.url == url


@pytest.mark.parametrize(
    "url", ["memory", "file:", "s3:", "s3://", "s3://k:v@b", "s3://b?x", "http://b", "/x", "sqlite:x"]
)
def test_invalid_storage_url_is_refused(url: str) -> None:
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
            "flag --set: storage: 's3://b/p': 'b' is not a valid name of a bucket or container",
        ),
        (["storage.url=az://con/p"], "az://con/p needs account, the name of its storage account"),
        (
            ["storage.url=s3://bkt", "storage.endpoint=https://x/y"],
            "the endpoint has a path, which only Azure's may have",
        ),
        (["compaction.file_bytes_target=2GiB"], "bytes, 1B to 1GiB"),
        (["metadata.url=postgres:x"], "expected sqlite:PATH, etcd:"),
        (["metadata.url=etcd://a:1"], "flag --set: metadata: the URL 'etcd://a:1' names no prefix"),
        (["metadata.url=etcd://bob:pw@a:1/x"], "remove it and set metadata.username and metadata.password"),
        (["metadata.username=bob"], "flag --set: metadata: username and password go together"),
        (["metadata.tls_key_file=k"], "tls_certificate_file and tls_key_file go together"),
        (
            ["metadata.tls_key_file=k", "metadata.tls_certificate_file=c"],
            "without tls_ca_file, which turns TLS on",
        ),
        (["cluster.id=short"], "expected 22 characters of base64url"),
        (["log.linger_ms=-1"], "milliseconds, 0 to 3650d"),
        (["metadata.session_ttl_ms=99999999999999999999"], "milliseconds, 1s to 3650d"),
        (["storage.attempts_max=99999999999999999999"], "integer, 1 to 2147483647"),
        (["log.buffer_bytes_max=99999999TiB"], "bytes, 1B to 1024TiB"),
    ],
)
def test_invalid_settings_are_refused(pairs: list[str], expected: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load_settings(None, {}, {}, pairs)
    assert expected in str(caught.value)


def test_data_dir_that_makes_an_invalid_url_is_refused() -> None:
    with pytest.raises(
        SettingsError, match=r"^flag --data-dir: broker\.data_dir does not fit into a URL: .*'host'"
    ):
        load_settings(None, {}, {"--data-dir": "//host"}, [])


@pytest.mark.parametrize("given", ["sqlite:here/metadata.sqlite", "sqlite:./here/../here/metadata.sqlite"])
def test_catalog_and_metadata_store_must_be_different_files(given: str) -> None:
    flags = {"--data-dir": "here", "--catalog": given}
    with pytest.raises(SettingsError, match=r"^flag --catalog: tables\.catalog is the metadata store"):
        load_settings(None, {}, flags, [])


def test_access_keys_and_http_endpoint_are_accepted(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("hunter2\n")
    (tmp_path / "dray.yaml").write_text(
        f"storage:\n  endpoint: http://127.0.0.1:1\n  allow_http: true\n  access_key_id: a\n"
        f"  secret_access_key: file:{tmp_path / 'key'}\n"
    )
    storage = load_settings(str(tmp_path / "dray.yaml"), {}, {}, []).settings.storage
    assert storage.secret_access_key is not None
    assert storage.secret_access_key.reveal() == "hunter2"


def test_unreadable_settings_file_is_reported(tmp_path: Path) -> None:
    for path, reason in ((tmp_path / "none.yaml", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(SettingsError, match=f"^{path}: cannot read the settings file: {reason}"):
            load_settings(str(path), {}, {}, [])


def test_secret_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"\xff\xfe")
    with pytest.raises(SettingsError, match="is not text"):
        load_settings(None, {"DRAY_STORAGE_SECRET_ACCESS_KEY": f"file:{tmp_path / 'key'}"}, {}, [])


def test_cluster_id_pattern_is_the_one_of_the_cluster() -> None:
    assert CLUSTER_ID_PATTERN in str(SCHEMA.sections["cluster"].fields["id"].annotation)
