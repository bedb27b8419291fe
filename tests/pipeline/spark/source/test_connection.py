"""Options name the cluster as flags do; what is not for that is left for the reader or the writer."""

import pickle
from pathlib import Path

import pytest

from dray.cli.spark_source import DefaultSource, connection
from dray.pipeline.reading.topic import TopicIndex
from dray.pipeline.spark.options import OptionWrong
from tests.pipeline.spark.source.clusters import DiskCluster


@pytest.fixture
def cluster(tmp_path: Path) -> DiskCluster:
    made = DiskCluster(tmp_path / "data")
    made.create("t")
    return made


async def _finds_topic(options: dict[str, str], environ: dict[str, str]) -> dict[str, str]:
    """Open the cluster with what has travelled by pickle; return the options that are left."""
    travelled = pickle.loads(pickle.dumps(connection(options, environ)))
    async with travelled.cluster() as opened:
        assert len((await TopicIndex(opened, "t").topic()).streams) == 2
    store = await travelled.storage()
    assert [info.path async for info in store.list("dray-cluster")] == ["dray-cluster.json"]
    await store.close()
    return dict(travelled.options)


async def test_a_directory_names_the_cluster(cluster: DiskCluster) -> None:
    left = await _finds_topic({"Data_Dir": str(cluster.folder), "Topic": "t", "x": "y"}, {})
    assert left == {"topic": "t", "x": "y"}


async def test_urls_and_settings_name_the_cluster(cluster: DiskCluster) -> None:
    urls = {
        "metadata": f"sqlite:{cluster.folder}/metadata.sqlite",
        "storage": f"file:{cluster.folder}/objects",
        "Storage.Attempts_Max": "3",
    }
    assert await _finds_topic(urls, {}) == {}


async def test_a_file_and_the_environment_name_the_cluster(cluster: DiskCluster, tmp_path: Path) -> None:
    file = tmp_path / "dray.yaml"
    file.write_text(f"broker:\n  data_dir: {cluster.folder}\n")
    assert await _finds_topic({"config": str(file)}, {}) == {}
    assert await _finds_topic({}, {"DRAY_CONFIG": str(file)}) == {}
    assert await _finds_topic({}, {"DRAY_BROKER_DATA_DIR": str(cluster.folder)}) == {}


async def test_relative_paths_mean_the_same_everywhere(
    cluster: DiskCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = connection({"data_dir": "data"}, {})
    monkeypatch.chdir("/")
    async with pickle.loads(pickle.dumps(made)).cluster() as opened:
        assert len((await TopicIndex(opened, "t").topic()).streams) == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"storage": "ftp://x"}, r"^option storage: storage\.url"),
        ({"log.linger": "1"}, r"^option: log\.linger is not a setting .*did you mean linger_ms"),
        ({"log.linger_ms": "soon"}, r"^option: log\.linger_ms: 'soon' is not allowed"),
        ({"config": "/absent.yaml"}, r"^/absent\.yaml: the settings file cannot be read"),
        ({"storage.secret_access_key": "hush"}, "is a secret"),
        ({"topic": "t", "option.topic": "t"}, "use CREATE TEMPORARY VIEW"),
    ],
)
def test_what_is_wrong_is_told_as_an_option(options: dict[str, str], said: str) -> None:
    with pytest.raises(OptionWrong, match=said) as raised:
        connection(options, {})
    assert "hush" not in str(raised.value)


def test_spark_finds_the_source_by_its_package() -> None:
    import pyspark_dray

    assert pyspark_dray.DefaultSource is DefaultSource
    assert DefaultSource.name() == "dray"
