"""Command, properties and environment of Spark's JVM."""

import sys
from pathlib import Path

import pytest

from dray.spark.java import Java
from dray.spark.launch import Archive, archive_of, command, environment, properties, properties_text
from dray.spark.settings import SparkSettings, usual_cache

FOLDER, CACHE = Path("/folder"), Path("/cache")
CLUSTER = SparkSettings(master="spark://somewhere:7077")


def java_at(folder: Path, version: str) -> Java:
    shared = folder / "lib" / "server" / "classes.jsa"
    shared.parent.mkdir(parents=True)
    shared.touch()
    return Java(folder / "bin" / "java", folder, version)


def test_local_spark_listens_on_loopback_only() -> None:
    local, cluster = (properties(one, FOLDER, Archive()) for one in (SparkSettings(), CLUSTER))
    assert local["spark.driver.host"] == local["spark.driver.bindAddress"] == "127.0.0.1"
    assert cluster.keys().isdisjoint({"spark.driver.host", "spark.driver.bindAddress"})
    assert local["spark.ui.enabled"] == "false"


def test_conf_overrides_properties_and_appends_java_options() -> None:
    conf = "spark.ui.enabled=true; spark.driver.extraJavaOptions=-Dx=y;"
    values = properties(SparkSettings(conf=conf), FOLDER, Archive("-XX:Some"))
    assert values["spark.ui.enabled"] == "true"
    options = values["spark.driver.extraJavaOptions"].split()
    assert {"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:Some"} <= set(options)
    assert options[-1] == "-Dx=y"


def test_properties_are_passed_in_a_file() -> None:
    assert command(Path("/spark"), FOLDER / "spark.properties") == [
        "/spark/bin/spark-submit",
        "--properties-file",
        "/folder/spark.properties",
        "--load-spark-defaults",
        "pyspark-shell",
    ]


def test_properties_file_escapes_special_characters() -> None:
    text = properties_text({"b": "x=1 # y\\z:\n\u00fc\U0001f40e", "a": ""})
    assert text == "a=\nb=x\\=1\\ \\#\\ y\\\\z\\:\\n\\u00fc\\ud83d\\udc0e\n"


def test_local_workers_use_this_python_and_a_cluster_its_own() -> None:
    given = {"PYSPARK_PYTHON": "/theirs", "PATH": "/bin", "PYSPARK_GATEWAY_PORT": "1", "JAVA_HOME": "/old"}
    java = Java(Path("/j/bin/java"), None, "17")
    local = environment(SparkSettings(), java, Path("/spark"), Path("/address"), given)
    cluster = environment(CLUSTER, java, Path("/spark"), Path("/address"), given)
    assert (local["PYSPARK_PYTHON"], cluster["PYSPARK_PYTHON"]) == (sys.executable, "/theirs")
    assert local["PATH"] == "/bin"
    assert local.keys().isdisjoint({"JAVA_HOME", "PYSPARK_GATEWAY_PORT"})


def test_first_session_creates_the_class_archive_and_later_ones_use_it(tmp_path: Path) -> None:
    java = java_at(tmp_path / "jdk", "17.0.15")
    first = archive_of(java, tmp_path, FOLDER, "4.1.4")
    assert first.options == '"-XX:ArchiveClassesAtExit=/folder/classes.jsa"'
    assert first.made == FOLDER / "classes.jsa"
    assert first.wanted is not None
    first.wanted.touch()
    later = archive_of(java, tmp_path, FOLDER, "4.1.4")
    assert (later.options, later.made) == (f'"-XX:SharedArchiveFile={first.wanted}"', None)
    assert archive_of(java, tmp_path, FOLDER, "4.1.5").made is not None


def test_newer_java_maintains_the_archive_itself(tmp_path: Path) -> None:
    made = archive_of(java_at(tmp_path / "jdk", "21.0.1"), CACHE, FOLDER, "4.1.4")
    assert made.options.startswith("-XX:+AutoCreateSharedArchive ")
    assert made.made is None


def test_java_without_a_base_archive_gets_none(tmp_path: Path) -> None:
    assert archive_of(Java(tmp_path / "bin" / "java", tmp_path, "25"), CACHE, FOLDER, "4.1.4") == Archive()


@pytest.mark.parametrize(
    ("given", "folder"), [("/x", Path("/x/dray/spark")), ("", Path.home() / ".cache/dray/spark")]
)
def test_cache_folder_follows_xdg(given: str, folder: Path) -> None:
    assert usual_cache({"XDG_CACHE_HOME": given}) == folder
