"""Cluster options of the source: they name a cluster as flags do; the rest goes to the reader or writer."""

import pickle
from pathlib import Path

import pytest

from dray.scan.topic import TopicIndex
from dray.server.spark_source import DefaultSource, connection
from dray.spark.errors import InvalidOption
from tests.spark.source.clusters import DiskCluster


@pytest.fixture
def cluster(tmp_path: Path) -> DiskCluster:
    made = DiskCluster(tmp_path / "data")
    made.create("t")
    return made


async def _finds_topic(options: dict[str, str], environ: dict[str, str]) -> dict[str, str]:
    """Open the cluster with a pickled connection; return the remaining options."""
    unpickled = pickle.loads(pickle.dumps(connection(options, environ)))
    async with unpickled.cluster() as opened:
        assert len((await TopicIndex(opened, "t").topic()).streams) == 2
    store = await unpickled.storage()
    assert [info.path async for info in store.list("dray-cluster")] == ["dray-cluster.json"]
    await store.close()
    return dict(unpickled.options)


async def test_data_dir_names_the_cluster(cluster: DiskCluster) -> None:
    left = await _finds_topic({"Data_Dir": str(cluster.folder), "Topic": "t", "x": "y"}, {})
    assert left == {"topic": "t", "x": "y"}


async def test_store_urls_and_settings_name_the_cluster(cluster: DiskCluster) -> None:
    urls = {
        "metadata": f"sqlite:{cluster.folder}/metadata.sqlite",
        "storage": f"file:{cluster.folder}/objects",
        "Storage.Attempts_Max": "3",
    }
    assert await _finds_topic(urls, {}) == {}


async def test_settings_file_and_environment_name_the_cluster(cluster: DiskCluster, tmp_path: Path) -> None:
    file = tmp_path / "dray.yaml"
    file.write_text(f"broker:\n  data_dir: {cluster.folder}\n")
    assert await _finds_topic({"config": str(file)}, {}) == {}
    assert await _finds_topic({}, {"DRAY_CONFIG": str(file)}) == {}
    assert await _finds_topic({}, {"DRAY_BROKER_DATA_DIR": str(cluster.folder)}) == {}


async def test_relative_paths_are_resolved_on_the_driver(
    cluster: DiskCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = connection({"data_dir": "data"}, {})
    monkeypatch.chdir("/")
    async with pickle.loads(pickle.dumps(made)).cluster() as opened:
        assert len((await TopicIndex(opened, "t").topic()).streams) == 2


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"storage": "ftp://x"}, r"^option storage: storage\.url"),
        ({"log.linger": "1"}, r"^option: unknown setting log\.linger .*did you mean linger_ms"),
        ({"log.linger_ms": "soon"}, r"^option: log\.linger_ms: 'soon' is not allowed"),
        ({"config": "/absent.yaml"}, r"^/absent\.yaml: cannot read the settings file"),
        ({"storage.secret_access_key": "hush"}, "is a secret"),
        ({"topic": "t", "option.topic": "t"}, "use CREATE TEMPORARY VIEW"),
    ],
)
def test_invalid_setting_is_reported_as_an_option(options: dict[str, str], error: str) -> None:
    with pytest.raises(InvalidOption, match=error) as raised:
        connection(options, {})
    assert "hush" not in str(raised.value)


def test_package_exports_the_default_source() -> None:
    import pyspark_dray

    assert pyspark_dray.DefaultSource is DefaultSource
    assert DefaultSource.name() == "dray"
