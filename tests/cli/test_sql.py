"""`dray sql` over rows in Parquet files and in the WAL."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from dray.tables.names import table_name
from tests.cli.clusters import FileCluster, file_cluster
from tests.cli.in_process_compaction import compact, settings_of
from tests.cli.invoking import Result, invoke, invoke_ok, new_topic

COUNT = 'SELECT count(*) AS n, count(DISTINCT (partition, "offset")) AS distinct_n FROM "{}"'


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FileCluster]:
    with file_cluster(tmp_path_factory.mktemp("sql")) as running:
        yield running


def produce(cluster: FileCluster, topic: str, first: int, count: int, *more: str) -> None:
    lines = b"".join(b"%d\tvalue %d\n" % (number, number) for number in range(first, first + count))
    invoke_ok("produce", topic, "-q", r"--key-separator=\t", *more, stdin=lines, kafka=cluster.kafka)


def half_compacted(cluster: FileCluster) -> str:
    """A topic whose first 100 records are in Parquet and whose last 20 are not."""
    topic = new_topic(cluster.kafka, partitions=3)
    produce(cluster, topic, 0, 100)
    report = compact(settings_of(cluster), topic)
    assert (report.records, report.failures) == (100, [])
    produce(cluster, topic, 100, 20)
    return topic


def sql(cluster: FileCluster, *arguments: str, stdin: bytes = b"") -> Result:
    return invoke("sql", *arguments, *cluster.flags, stdin=stdin)


def rows(cluster: FileCluster, query: str) -> list[dict[str, object]]:
    result = sql(cluster, query, "--json")
    assert result.code == 0, result.err
    return [json.loads(line) for line in result.lines]


def test_every_row_is_returned_once_before_and_after_compaction(cluster: FileCluster) -> None:
    topic = half_compacted(cluster)
    assert rows(cluster, COUNT.format(topic)) == [{"n": 120, "distinct_n": 120}]
    values = rows(cluster, f'SELECT utf8(key)::INT AS k, utf8(value) AS v FROM "{topic}" ORDER BY 1')
    assert values == [{"k": number, "v": f"value {number}"} for number in range(120)]


def test_compaction_does_not_change_results(cluster: FileCluster) -> None:
    topic = half_compacted(cluster)
    query = f'SELECT * FROM "{topic}" ORDER BY partition, "offset"'
    before = rows(cluster, query)
    assert compact(settings_of(cluster), topic).records == 20
    assert rows(cluster, query) == before
    for first in (120, 180):
        produce(cluster, topic, first, 60)
        assert compact(settings_of(cluster), topic).records == 60
    before = rows(cluster, query)
    merging = settings_of(cluster, {"compaction.merge_files_min": "3"})
    assert compact(merging, topic).records == 240
    assert rows(cluster, query) == before


def test_columns_equal_those_of_the_iceberg_table(cluster: FileCluster) -> None:
    topic = half_compacted(cluster)
    described = rows(cluster, f'DESCRIBE "{topic}"')
    assert [(one["column_name"], one["column_type"]) for one in described][:6] == [
        ("partition", "INTEGER"),
        ("offset", "BIGINT"),
        ("timestamp", "TIMESTAMP WITH TIME ZONE"),
        ("key", "BLOB"),
        ("value", "BLOB"),
        ("headers", 'STRUCT("key" VARCHAR, "value" BLOB)[]'),
    ]


def test_rows_before_the_log_start_are_hidden(cluster: FileCluster) -> None:
    topic = new_topic(cluster.kafka)
    produce(cluster, topic, 0, 50)
    compact(settings_of(cluster), topic)
    produce(cluster, topic, 50, 10)
    _delete_records(cluster, topic, 17)
    found = rows(cluster, f'SELECT "offset" AS o FROM "{topic}" ORDER BY 1')
    assert [one["o"] for one in found] == list(range(17, 60))
    _delete_records(cluster, topic, 55)
    found = rows(cluster, f'SELECT "offset" AS o FROM "{topic}" ORDER BY 1')
    assert [one["o"] for one in found] == list(range(55, 60))


def _delete_records(cluster: FileCluster, topic: str, before: int) -> None:
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import AdminClient

    admin = AdminClient({"bootstrap.servers": cluster.kafka.bootstrap})
    for future in admin.delete_records([TopicPartition(topic, 0, before)]).values():
        assert future.result().low_watermark == before


def test_topic_is_also_known_by_its_iceberg_name(cluster: FileCluster) -> None:
    topic = half_compacted(cluster)
    assert rows(cluster, f"SELECT count(*) AS n FROM dray.{table_name(topic)}") == [{"n": 120}]
    assert rows(cluster, f'SELECT count("{topic}".value) AS n FROM "{topic}"') == [{"n": 120}]


def test_topic_names_with_special_characters(cluster: FileCluster) -> None:
    for topic in ("web.clicks", "Web_Views", "plain_name"):
        invoke_ok("topics", "create", topic, "--if-not-exists", kafka=cluster.kafka)
        produce(cluster, topic, 0, 2)
    for name in (
        '"web.clicks"',
        "web_x2e_clicks",
        "Web_Views",
        "web_views",
        "_x57_eb__x56_iews",
        "PLAIN_NAME",
    ):
        assert rows(cluster, f"SELECT count(*) AS n FROM {name}") == [{"n": 2}], name
    joined = 'SELECT count(*) AS n FROM "web.clicks" a JOIN web_x2e_clicks b USING (partition, "offset")'
    assert rows(cluster, joined) == [{"n": 2}]


def test_names_that_differ_only_in_case(cluster: FileCluster) -> None:
    for topic in ("Case", "case"):
        invoke_ok("topics", "create", topic, "--if-not-exists", kafka=cluster.kafka)
    produce(cluster, "Case", 0, 1)
    produce(cluster, "case", 0, 2)
    assert rows(cluster, 'SELECT count(*) AS n FROM "case"') == [{"n": 2}]
    assert rows(cluster, "SELECT count(*) AS n FROM _x43_ase") == [{"n": 1}]
    assert rows(
        cluster, 'SELECT (SELECT count(*) FROM "case") AS a, (SELECT count(*) FROM _x43_ase) AS b'
    ) == [{"a": 2, "b": 1}]
    result = sql(cluster, 'SELECT * FROM "Case"')
    assert result.code == 1
    assert "refer to them as _x43_ase and case" in result.err
    for topic in ("Two.Words", "two.words"):
        invoke_ok("topics", "create", topic, "--if-not-exists", kafka=cluster.kafka)
    result = sql(cluster, 'SELECT * FROM "two.words"')
    assert result.code == 1
    assert "refer to them as _x54_wo_x2e__x57_ords and two_x2e_words" in result.err


def test_unknown_topic_suggests_similar_names(cluster: FileCluster) -> None:
    invoke_ok("topics", "create", "orders", "--if-not-exists", kafka=cluster.kafka)
    result = sql(cluster, "SELECT * FROM ordres")
    assert result.code == 1
    assert result.err == "dray: there is no topic 'ordres'; did you mean orders?\n"


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELEC 1", 'Parser Error: syntax error at or near "SELEC"'),
        ("SELECT 1;\nSELECT x", 'Binder Error: Referenced column "x" was not found'),
        ("SELECT error('no')", "Invalid Input Error: no"),
        ("COPY (SELECT 1) TO '/tmp/out.csv'", "file system operations are disabled"),
        ("SELECT * FROM read_parquet('/tmp/x')", "file system operations are disabled"),
        ("ATTACH '/tmp/x.db'", "file system operations are disabled"),
        ("INSTALL httpfs", "file system operations are disabled"),
        ("SET enable_external_access = true", "the configuration has been locked"),
        ("SELECT * FROM loaded", "there is no topic 'loaded'"),
    ],
)
def test_duckdb_error_is_reported_in_one_line(cluster: FileCluster, query: str, message: str) -> None:
    result = sql(cluster, query)
    assert result.code == 1
    assert message in result.err
    assert result.err.count("\n") == 1


def test_several_statements_run_in_order(cluster: FileCluster) -> None:
    topic = half_compacted(cluster)
    text = f'CREATE TABLE t AS FROM "{topic}"; INSERT INTO t FROM t; SELECT count(*) AS n FROM t'
    assert rows(cluster, text) == [{"n": 240}]
    result = sql(cluster, "SELECT 1 AS a; SELECT 'x' AS b")
    assert result.lines == ["a", "1", "", "b", "x"]


def test_listing_topics_reads_no_records(cluster: FileCluster) -> None:
    topic = half_compacted(cluster)
    listed = [one["name"] for one in rows(cluster, "SHOW TABLES")]
    assert topic.replace("-", "_x2d_") in listed
    table = topic.replace("-", "_x2d_")
    assert rows(cluster, f"SELECT count(*) AS n FROM query_table('{table}')") == [{"n": 120}]
    result = sql(cluster, f"SELECT count(*) AS n FROM query('FROM {table[:3]}' || '{table[3:]}')")
    assert (result.code, result.err) == (1, "dray: Invalid Input Error: name the topic in the query itself\n")


def test_pivot_and_other_references_to_a_topic(cluster: FileCluster) -> None:
    topic = half_compacted(cluster)
    found = rows(cluster, f'PIVOT "{topic}" ON partition USING count(*) GROUP BY attributes')
    assert sum(int(str(found[0][name])) for name in ("0", "1", "2")) == 120
    assert rows(cluster, f'WITH t AS (FROM "{topic}") SELECT count(*) AS n FROM t') == [{"n": 120}]
    assert rows(cluster, f'SELECT (SELECT count(*) FROM "{topic}") AS n') == [{"n": 120}]


def test_text_output_aligns_and_truncates_values(cluster: FileCluster) -> None:
    query = (
        r"SELECT 'ok'::BLOB AS t, '\xFF\x00'::BLOB AS b, NULL AS n, 7 AS i, e'a\nb\x1b[31m' AS c, true AS y"
    )
    result = sql(cluster, query)
    assert result.lines == [
        r"t   b       n     i  c             y",
        r"ok  \xff00  NULL  7  a\nb\x1b[31m  true",
    ]
    long = sql(cluster, "SELECT repeat('x', 1000) AS x").lines[1]
    assert long == "x" * 119 + "…"
    assert sql(cluster, "SELECT 1 AS a WHERE false").lines == ["a"]
    assert sql(cluster, "SELECT 'nan'::DOUBLE AS x, '-inf'::DOUBLE AS y").lines[1].split() == [
        "NaN",
        "-Infinity",
    ]


def test_query_plan_is_printed_unchanged(cluster: FileCluster) -> None:
    drawn = sql(cluster, "EXPLAIN SELECT 1").lines
    assert len(drawn) > 3
    assert all(line.startswith(("┌", "│", "└")) for line in drawn)


def test_json_output_converts_every_type(cluster: FileCluster) -> None:
    query = (
        r"SELECT 'ok'::BLOB AS t, '\xFF'::BLOB AS b, NULL AS n, "
        "170141183460469231731687303715884105727 AS h, 1.50 AS d, "
        "TIMESTAMPTZ '2026-01-02 03:04:05Z' AS ts, [{'k': 'v'::BLOB}] AS l, 1 AS a, 2 AS a, "
        "['nan'::DOUBLE, 'inf'::DOUBLE] AS f"
    )
    assert rows(cluster, query) == [
        {
            "t": "ok",
            "b": {"base64": "/w=="},
            "n": None,
            "h": 170141183460469231731687303715884105727,
            "d": 1.5,
            "ts": "2026-01-02T03:04:05Z",
            "l": [{"k": "v"}],
            "a": 1,
            "a_1": 2,
            "f": ["NaN", "Infinity"],
        }
    ]


def test_header_function_returns_a_header(cluster: FileCluster) -> None:
    topic = new_topic(cluster.kafka)
    line = json.dumps({"key": "k", "value": "v", "headers": [["h", "1"], ["h", "2"], ["x", None]]}).encode()
    invoke_ok("produce", topic, "-q", "--json", stdin=line, kafka=cluster.kafka)
    query = (
        f"SELECT headers, utf8(header(headers, 'h')) AS h, header(headers, 'none') AS none FROM \"{topic}\""
    )
    expected = [
        {
            "headers": [{"key": "h", "value": "1"}, {"key": "h", "value": "2"}, {"key": "x", "value": None}],
            "h": "1",
            "none": None,
        }
    ]
    assert rows(cluster, query) == expected
    compact(settings_of(cluster), topic)
    assert rows(cluster, query) == expected


def test_json_functions_apply_to_values(cluster: FileCluster) -> None:
    topic = new_topic(cluster.kafka)
    invoke_ok("produce", topic, "-q", stdin=b'{"city": "Oslo"}\n', kafka=cluster.kafka)
    query = f"SELECT utf8(value)->>'$.city' AS city FROM \"{topic}\""
    assert rows(cluster, query) == [{"city": "Oslo"}]


def test_timestamp_beyond_microseconds_is_reported(cluster: FileCluster) -> None:
    topic = new_topic(cluster.kafka, message_timestamp_after_max_ms=str(2**63 - 1))
    line = json.dumps({"value": "v", "timestamp": 2**63 - 1}).encode()
    invoke_ok("produce", topic, "-q", "--json", stdin=line, kafka=cluster.kafka)
    result = invoke("sql", f'SELECT * FROM "{topic}"', *cluster.flags)
    assert result.code == 1
    assert "its timestamp overflows microseconds" in result.err


def test_query_from_file_and_standard_input(cluster: FileCluster, tmp_path: Path) -> None:
    file = tmp_path / "query.sql"
    file.write_text("-- a comment\nSELECT 1 AS a;\n")
    assert sql(cluster, "--file", str(file)).lines == ["a", "1"]
    assert sql(cluster, "-", stdin=b"SELECT 2 AS b").lines == ["b", "2"]
    assert sql(cluster, "--file", "-", stdin=b"SELECT 3 AS c").lines == ["c", "3"]


@pytest.mark.parametrize("query", ["-- a comment\nSELECT 1 AS a", "--\nSELECT 1 AS a"])
def test_query_may_start_with_a_comment(cluster: FileCluster, query: str) -> None:
    assert sql(cluster, query).lines == ["a", "1"]
    result = sql(cluster, "--jsn", query)
    assert (result.code, "No such option '--jsn'" in result.err) == (2, True)


@pytest.mark.parametrize("query", [";", "-- nothing", " ; ;"])
def test_query_without_a_statement_is_refused(cluster: FileCluster, query: str) -> None:
    result = sql(cluster, query)
    assert (result.code, result.err) == (1, "dray: the query has no statement\n")


@pytest.mark.parametrize(
    ("arguments", "stdin", "message"),
    [
        ([], b"", "give a query, --file FILE, or '-' to read it from standard input"),
        (["SELECT 1", "--file", "x"], b"", "give either a query or --file, not both"),
        (["-"], b" \n", "standard input contains no statement"),
        (["-"], b"\xff", "standard input is not UTF-8: 'utf-8' codec can't decode"),
        (["--file", "/nowhere.sql"], b"", "cannot read /nowhere.sql: No such file or directory"),
    ],
)
def test_invalid_usage_exits_with_2(arguments: list[str], stdin: bytes, message: str) -> None:
    result = invoke("sql", *arguments, stdin=stdin)
    assert result.code == 2
    assert result.err.startswith(f"dray: {message}")


def test_missing_cluster_is_reported(tmp_path: Path) -> None:
    result = invoke("sql", "SELECT 1", f"--data-dir={tmp_path}/none")
    assert result.code == 1
    assert "there is nothing at" in result.err
    assert list(tmp_path.iterdir()) == []
