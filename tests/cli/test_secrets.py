"""Secrets, which appear nowhere: in command lines, logs, Spark's pages, errors, printed settings."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from dray.testing import seaweedfs
from dray.testing.ports import free_port
from tests.agreement.cluster import POM, Spread
from tests.cli import up_process
from tests.cli.invoking import invoke
from tests.cli.up_process import running
from tests.meta.etcd_cluster import EtcdCluster, enable_authentication
from tests.meta.etcd_harness import QUICK_ELECTIONS
from tests.oracle.cache import CACHE
from tests.oracle.jars import fetched
from tests.spark.processes import descendants
from tests.tables.rest.guard import guarded
from tests.tables.rest.server import serve

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.real("java", "spark", "etcd", "seaweedfs"),
]

PASSWORD: Final = "marker-of-the-metadata"
SECRET_KEY: Final = seaweedfs.SECRET
CLIENT_SECRET: Final = "marker-of-the-catalog"
SESSION_TOKEN: Final = "marker-of-the-session"
MARKERS: Final = (PASSWORD, SECRET_KEY, CLIENT_SECRET, SESSION_TOKEN)
_PAGES: Final = ("jobs/", "stages/", "executors/", "SQL/", "environment/", "api/v1/applications")
SPARK_S: Final = 240.0
"""How long Spark may take on a busy machine."""


def shown(text: str) -> list[str]:
    """Return the secrets in a text."""
    return [marker for marker in MARKERS if marker in text]


@pytest.fixture(scope="module")
def environ(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Variables of a process on stores that demand all of these secrets but the session token."""
    folder = tmp_path_factory.mktemp("secured")
    (folder / "client").write_text(f"dray:{CLIENT_SECRET}")
    (folder / "client").chmod(0o644)
    (folder / "seaweedfs").mkdir()
    with (
        EtcdCluster(folder / "etcd", options=QUICK_ELECTIONS) as etcd,
        seaweedfs.serve(folder / "seaweedfs") as s3,
        serve(folder / "rest", **reaching(s3.endpoint)) as catalog,
        guarded(catalog.uri) as guard,
    ):
        enable_authentication(etcd, "/dray", PASSWORD)
        s3.make_bucket("dray")
        guard.client = ("dray", CLIENT_SECRET)
        given = {
            "DRAY_METADATA_URL": f"etcd://{etcd.addresses[0]}/dray",
            "DRAY_METADATA_USERNAME": "dray",
            "DRAY_METADATA_PASSWORD": PASSWORD,
            "DRAY_METADATA_SESSION_TTL_MS": "10000",
            "DRAY_CLUSTER_DOMAINS": "1",
            "DRAY_STORAGE_URL": "s3://dray/cluster",
            "DRAY_STORAGE_ENDPOINT": s3.endpoint,
            "DRAY_STORAGE_ALLOW_HTTP": "true",
            "DRAY_STORAGE_REGION": "us-east-1",
            "DRAY_STORAGE_ACCESS_KEY_ID": "writer",
            "DRAY_STORAGE_SECRET_ACCESS_KEY": SECRET_KEY,
            "DRAY_TABLES_CATALOG": guard.uri,
            "DRAY_TABLES_CREDENTIAL_FILE": str(folder / "client"),
            "XDG_CACHE_HOME": str(CACHE),
        }
        first = ("broker", "--listen=127.0.0.1:0", "--http=127.0.0.1:0")
        with running(*first, cwd=folder, env=given) as command:  # commands need a cluster
            command.served(1)
            assert command.end(signal.SIGTERM) == 0
        yield given


def reaching(endpoint: str) -> dict[str, Any]:
    """Return the options of a catalog that reaches the bucket."""
    properties = {**Spread(endpoint, "", "").java, "http-client.type": "urlconnection"}
    return {"properties": properties, "more_jars": fetched("iceberg-s3", POM)}


def test_running_cluster_shows_no_secret(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(up_process, "WAIT_S", SPARK_S)
    (temporary := tmp_path / "tmp").mkdir()
    port = free_port()
    given = environ | {
        "TMPDIR": str(temporary),
        "DRAY_COMPACTION_WAL_AGE_MS_MAX": "1000",
        "DRAY_COMPACTION_INTERVAL_MS": "200",
        "DRAY_SPARK_CONF": f"spark.ui.enabled=true; spark.ui.port={port}",
    }
    arguments = [
        "up",
        "--brokers=2",
        "--listen=127.0.0.1:0",
        "--http=127.0.0.1:0",
        "--set=logging.level=debug",
    ]
    with running(*arguments, cwd=tmp_path, env=given) as command:
        served, *_ = command.served(2)
        exposed = command.logged("secret_file_exposed")
        assert exposed["path"] == environ["DRAY_TABLES_CREDENTIAL_FILE"]
        assert invoke("topics", "create", "t", bootstrap=served.kafka).code == 0
        assert invoke("produce", "t", "-q", stdin=b"v1\nv2\n", bootstrap=served.kafka).code == 0
        assert command.logged("topic_compacted")["records"] == 2
        lines = {pid: Path(f"/proc/{pid}/cmdline").read_bytes() for pid in descendants(command.process.pid)}
        programs = b"\n".join(lines.values())
        assert b"java" in programs
        assert b"dray.server.supervisor" in programs
        assert not shown(programs.decode(errors="replace"))
        for page, content in spark_pages(port).items():
            assert not shown(content), page
        for path in temporary.rglob("*"):
            if path.is_file():
                assert not shown(path.read_bytes().decode(errors="replace")), path
        for address in (served.http,):
            assert not shown(page_at(f"http://{address}/metrics"))
        assert command.end(signal.SIGTERM) == 0
    assert not shown("".join(command.errors) + command.rest)


def spark_pages(port: int) -> dict[str, str]:
    """Return what Spark's interface shows, as pages and as JSON."""
    pages = {page: page_at(f"http://127.0.0.1:{port}/{page}") for page in _PAGES}
    assert "spark.python.daemon.module" in pages["environment/"]
    [application] = json.loads(pages["api/v1/applications"])
    for page in ("environment", "sql?details=true", "jobs", "allexecutors"):
        url = f"http://127.0.0.1:{port}/api/v1/applications/{application['id']}/{page}"
        pages[page] = page_at(url)
    return pages


def page_at(url: str) -> str:
    with urllib.request.urlopen(url, timeout=30) as answer:
        content: bytes = answer.read()
    return content.decode()


def run(environ: Mapping[str, str], *arguments: str) -> "subprocess.CompletedProcess[str]":
    others = {name: value for name, value in os.environ.items() if not name.startswith("DRAY_")}
    return subprocess.run(
        [sys.executable, "-P", "-m", "dray", *arguments],
        env={**others, **environ},
        capture_output=True,
        text=True,
        timeout=SPARK_S,
        check=False,
    )


@pytest.mark.parametrize("arguments", [("config", "show"), ("config", "show", "--json"), ("config", "check")])
def test_settings_are_shown_without_secrets(environ: dict[str, str], arguments: tuple[str, ...]) -> None:
    done = run(environ | {"DRAY_STORAGE_SESSION_TOKEN": SESSION_TOKEN}, *arguments)
    assert (done.returncode, shown(done.stdout + done.stderr)) == (0, [])
    if arguments[-1] == "check":
        assert f"can read the secret in {environ['DRAY_TABLES_CREDENTIAL_FILE']}" in done.stderr
    else:
        assert len(re.findall(r"\*\*\*", done.stdout)) == len(MARKERS)


class TestErrors:
    """With tracebacks. The stores refuse the secrets, which are the markers of others."""

    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            ({"DRAY_METADATA_PASSWORD": SESSION_TOKEN}, "password of user 'dray'"),
            ({"DRAY_STORAGE_SECRET_ACCESS_KEY": SESSION_TOKEN}, "check the access key"),
            ({"DRAY_STORAGE_SESSION_TOKEN": SESSION_TOKEN}, "check the access key"),
            (
                {"DRAY_TABLES_CREDENTIAL": f"dray:{SESSION_TOKEN}", "DRAY_TABLES_CREDENTIAL_FILE": ""},
                "credentials",
            ),
            ({"DRAY_TABLES_TOKEN": SESSION_TOKEN, "DRAY_TABLES_CREDENTIAL_FILE": ""}, "credentials"),
            (
                {"DRAY_STORAGE_ENDPOINT": "http://127.0.0.1:9", "DRAY_STORAGE_RETRY_BUDGET_MS": "0"},
                "connection",
            ),
        ],
    )
    def test_refused_secret_is_not_shown(
        self, environ: dict[str, str], wrong: dict[str, str], message: str
    ) -> None:
        done = run(environ | wrong | {"DRAY_DEBUG": "1"}, "tables", "list")
        assert done.returncode == 1
        assert message in done.stderr
        assert "Traceback" in done.stderr
        assert not shown(done.stdout + done.stderr)

    @pytest.mark.parametrize(
        ("wrong", "arguments"),
        [
            ({"DRAY_STORAGE_SSE_CUSTOMER_KEY": SESSION_TOKEN}, ()),
            (
                {
                    "DRAY_STORAGE_SERVER_SIDE_ENCRYPTION": "sse-c",
                    "DRAY_STORAGE_SSE_CUSTOMER_KEY": SESSION_TOKEN,
                },
                (),
            ),
            ({"DRAY_METADATA_PASWORD": SESSION_TOKEN}, ()),
            ({"DRAY_METADATA_PASSWORD": f"{SESSION_TOKEN}\x07"}, ()),
            ({}, (f"--set=metadata.password={SESSION_TOKEN}",)),
            ({}, (f"--set=metadata.pasword={SESSION_TOKEN}",)),
            ({"DRAY_METADATA_URL": f"etcd://dray:{SESSION_TOKEN}@127.0.0.1:2379/dray"}, ()),
            ({"DRAY_TABLES_CATALOG": f"http://dray:{SESSION_TOKEN}@127.0.0.1:8181"}, ()),
        ],
    )
    def test_invalid_setting_is_not_shown(
        self, environ: dict[str, str], wrong: dict[str, str], arguments: tuple[str, ...]
    ) -> None:
        done = run(environ | wrong | {"DRAY_DEBUG": "1"}, "tables", "list", *arguments)
        assert done.returncode == 2
        assert not shown(done.stdout + done.stderr)
