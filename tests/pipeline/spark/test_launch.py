"""The command, settings and environment that Spark's JVM is started with."""

import sys
from pathlib import Path

import pytest

from dray.pipeline.spark.java import Java
from dray.pipeline.spark.launch import Archive, archive_of, command, environment, properties, properties_text
from dray.pipeline.spark.settings import SparkSettings, usual_cache

FOLDER, CACHE = Path("/folder"), Path("/cache")
CLUSTER = SparkSettings(master="spark://somewhere:7077")


def java_at(folder: Path, version: str) -> Java:
    shared = folder / "lib" / "server" / "classes.jsa"
    shared.parent.mkdir(parents=True)
    shared.touch()
    return Java(folder / "bin" / "java", folder, version)


def test_a_local_spark_listens_on_loopback_alone() -> None:
    local, cluster = (properties(one, FOLDER, Archive()) for one in (SparkSettings(), CLUSTER))
    assert local["spark.driver.host"] == local["spark.driver.bindAddress"] == "127.0.0.1"
    assert cluster.keys().isdisjoint({"spark.driver.host", "spark.driver.bindAddress"})
    assert local["spark.ui.enabled"] == "false"


def test_own_settings_win_and_java_options_are_added() -> None:
    conf = "spark.ui.enabled=true; spark.driver.extraJavaOptions=-Dx=y;"
    values = properties(SparkSettings(conf=conf), FOLDER, Archive("-XX:Some"))
    assert values["spark.ui.enabled"] == "true"
    options = values["spark.driver.extraJavaOptions"].split()
    assert {"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:Some"} <= set(options)
    assert options[-1] == "-Dx=y"


def test_settings_are_not_on_the_command_line() -> None:
    assert command(Path("/spark"), FOLDER / "spark.properties") == [
        "/spark/bin/spark-submit",
        "--properties-file",
        "/folder/spark.properties",
        "--load-spark-defaults",
        "pyspark-shell",
    ]


def test_a_properties_file_keeps_what_java_would_read_otherwise() -> None:
    text = properties_text({"b": "x=1 # y\\z:\n\u00fc\U0001f40e", "a": ""})
    assert text == "a=\nb=x\\=1\\ \\#\\ y\\\\z\\:\\n\\u00fc\\ud83d\\udc0e\n"


def test_workers_have_our_python_unless_a_cluster_has_its_own() -> None:
    given = {"PYSPARK_PYTHON": "/theirs", "PATH": "/bin", "PYSPARK_GATEWAY_PORT": "1", "JAVA_HOME": "/old"}
    java = Java(Path("/j/bin/java"), None, "17")
    local = environment(SparkSettings(), java, Path("/spark"), Path("/told"), given)
    cluster = environment(CLUSTER, java, Path("/spark"), Path("/told"), given)
    assert (local["PYSPARK_PYTHON"], cluster["PYSPARK_PYTHON"]) == (sys.executable, "/theirs")
    assert local["PATH"] == "/bin"
    assert local.keys().isdisjoint({"JAVA_HOME", "PYSPARK_GATEWAY_PORT"})


def test_the_first_session_makes_the_archive_and_later_ones_use_it(tmp_path: Path) -> None:
    java = java_at(tmp_path / "jdk", "17.0.15")
    first = archive_of(java, tmp_path, FOLDER, "4.1.4")
    assert first.options == '"-XX:ArchiveClassesAtExit=/folder/classes.jsa"'
    assert first.made == FOLDER / "classes.jsa"
    assert first.wanted is not None
    first.wanted.touch()
    later = archive_of(java, tmp_path, FOLDER, "4.1.4")
    assert (later.options, later.made) == (f'"-XX:SharedArchiveFile={first.wanted}"', None)
    assert archive_of(java, tmp_path, FOLDER, "4.1.5").made is not None


def test_newer_javas_keep_the_archive_themselves(tmp_path: Path) -> None:
    made = archive_of(java_at(tmp_path / "jdk", "21.0.1"), CACHE, FOLDER, "4.1.4")
    assert made.options.startswith("-XX:+AutoCreateSharedArchive ")
    assert made.made is None


def test_a_java_without_an_archive_of_its_own_gets_none(tmp_path: Path) -> None:
    assert archive_of(Java(tmp_path / "bin" / "java", tmp_path, "25"), CACHE, FOLDER, "4.1.4") == Archive()


@pytest.mark.parametrize(
    ("given", "folder"), [("/x", Path("/x/dray/spark")), ("", Path.home() / ".cache/dray/spark")]
)
def test_the_cache_is_where_caches_are(given: str, folder: Path) -> None:
    assert usual_cache({"XDG_CACHE_HOME": given}) == folder
