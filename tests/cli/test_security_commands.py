"""`dray users`, `dray acls` and `dray quotas`: what they change in the metadata store, and their errors."""

import getpass
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.clusters import FileCluster, file_cluster
from tests.cli.invoking import Result, invoke


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[FileCluster]:
    with file_cluster(tmp_path / "cluster") as made:
        yield made


def run(cluster: FileCluster, *arguments: str, stdin: bytes = b"") -> Result:
    return invoke(*arguments, *cluster.metadata_flags, stdin=stdin)


def test_users_are_added_listed_and_deleted(cluster: FileCluster) -> None:
    assert run(cluster, "users", "add", "alice", stdin=b"secret\n").lines == ["added user alice"]
    bob = run(cluster, "users", "add", "bob", "--mechanism", "SCRAM-SHA-512", stdin=b"secret\n")
    assert bob.code == 0, bob.err
    listed = json.loads(run(cluster, "users", "list", "--json").out)
    assert listed == [
        {"name": "alice", "iterations": {"SCRAM-SHA-256": 4096, "SCRAM-SHA-512": 4096}},
        {"name": "bob", "iterations": {"SCRAM-SHA-512": 4096}},
    ]
    changed = run(cluster, "users", "passwd", "bob", stdin=b"other\n")
    assert changed.lines == ["changed the password of user bob"]
    assert run(cluster, "users", "delete", "bob", "--yes").lines == ["deleted user bob"]
    assert [line.split()[0] for line in run(cluster, "users", "list").lines] == ["user", "alice"]


def test_errors_of_users_say_what_to_do(cluster: FileCluster) -> None:
    run(cluster, "users", "add", "carol", stdin=b"secret\n")
    again = run(cluster, "users", "add", "carol", stdin=b"secret\n")
    assert (again.code, "dray users passwd" in again.err) == (1, True)
    missing = run(cluster, "users", "delete", "dave", "--yes")
    assert (missing.code, "there is no user 'dave'" in missing.err) == (1, True)
    empty = run(cluster, "users", "add", "dave")
    assert (empty.code, "password" in empty.err) == (2, True)
    unconfirmed = run(cluster, "users", "delete", "carol")
    assert (unconfirmed.code, "--yes" in unconfirmed.err) == (2, True)


def test_passwords_are_not_stored(cluster: FileCluster, tmp_path: Path) -> None:
    run(cluster, "users", "add", "erin", stdin=b"a-password-to-look-for\n")
    saved = tmp_path / "backup"
    assert invoke("metadata", "backup", "--to", str(saved), *cluster.flags).code == 0
    files = [saved, *cluster.data_dir.rglob("metadata.sqlite*")]
    assert len(files) > 1
    assert all(b"a-password-to-look-for" not in file.read_bytes() for file in files)


def test_acls_are_added_listed_and_removed(cluster: FileCluster) -> None:
    added = run(cluster, "acls", "add", "User:alice", "read,write", "--topic", "orders", "--group", "g")
    assert (added.code, len(added.lines)) == (0, 5), added.err
    run(
        cluster,
        "acls",
        "add",
        "User:bob",
        "all",
        "--topic",
        "logs-",
        "--prefix",
        "--deny",
        "--host",
        "10.0.0.1",
    )
    listed = json.loads(run(cluster, "acls", "list", "--json").out)
    assert {
        "principal": "User:bob",
        "permission": "deny",
        "operation": "all",
        "resource": "topic",
        "name": "logs-",
        "pattern": "prefixed",
        "host": "10.0.0.1",
    } in listed
    own = json.loads(run(cluster, "acls", "list", "--json", "--principal", "User:alice").out)
    assert {(one["resource"], one["operation"]) for one in own} == {
        ("topic", "read"),
        ("topic", "write"),
        ("group", "read"),
        ("group", "write"),
    }
    assert len(run(cluster, "acls", "remove", "User:alice", "read", "--topic", "orders").lines) == 2
    assert len(run(cluster, "acls", "remove", "User:alice").lines) == 4
    assert run(cluster, "acls", "remove", "User:alice").lines == ["no ACL matches"]


def test_errors_of_acls_say_what_to_do(cluster: FileCluster) -> None:
    without = run(cluster, "acls", "add", "User:alice", "read")
    assert (without.code, "--topic" in without.err) == (2, True)
    operation = run(cluster, "acls", "add", "User:alice", "reed", "--topic", "t")
    assert (operation.code, "unknown operation 'reed'" in operation.err) == (2, True)
    principal = run(cluster, "acls", "add", "alice", "read", "--topic", "t")
    assert (principal.code, "principal" in principal.err.lower()) == (1, True)


def test_quotas_are_set_listed_and_removed(cluster: FileCluster) -> None:
    done = run(cluster, "quotas", "set", "--user", "alice", "--producer-byte-rate", "2MiB")
    assert done.lines == ["set quotas of user alice"], done.err
    run(cluster, "quotas", "set", "--user", "alice", "--client-id", "etl", "--request-percentage", "50")
    run(cluster, "quotas", "set", "--default-user", "--consumer-byte-rate", "1000000")
    run(cluster, "quotas", "set", "--ip", "10.0.0.1", "--connection-creation-rate", "5")
    assert json.loads(run(cluster, "quotas", "list", "--json").out) == [
        {"entity": {"client-id": "etl", "user": "alice"}, "limits": {"request_percentage": 50.0}},
        {"entity": {"ip": "10.0.0.1"}, "limits": {"connection_creation_rate": 5.0}},
        {"entity": {"user": "alice"}, "limits": {"producer_byte_rate": 2097152.0}},
        {"entity": {"user": None}, "limits": {"consumer_byte_rate": 1000000.0}},
    ]
    run(cluster, "quotas", "remove", "--user", "alice", "--client-id", "etl")
    removed = run(cluster, "quotas", "remove", "--user", "alice", "--producer-byte-rate")
    assert removed.lines == ["removed quotas of user alice"], removed.err
    assert len(json.loads(run(cluster, "quotas", "list", "--json").out)) == 2


def test_errors_of_quotas_say_what_to_do(cluster: FileCluster) -> None:
    without = run(cluster, "quotas", "set", "--producer-byte-rate", "5")
    assert (without.code, "--user" in without.err) == (2, True)
    limitless = run(cluster, "quotas", "set", "--user", "alice")
    assert (limitless.code, "--producer-byte-rate" in limitless.err) == (2, True)
    wrong = run(cluster, "quotas", "set", "--ip", "10.0.0.1", "--producer-byte-rate", "5")
    assert wrong.code == 1


def logged(result: Result) -> list[tuple[str, list[str], str]]:
    """Return API, subjects and outcome of the audit log that a command has written."""
    lines = [json.loads(line) for line in result.err.splitlines() if line.startswith("{")]
    assert all(line["principal"] == f"OS:{getpass.getuser()}" and line["logger"] == "audit" for line in lines)
    return [(line["api"], line["subjects"], line["outcome"]) for line in lines]


def test_changes_are_in_the_audit_log_of_the_command(cluster: FileCluster) -> None:
    added = run(cluster, "users", "add", "frank", stdin=b"a-password\n")
    assert logged(added) == [("dray users add", ["USER:frank"], "ok")]
    assert "a-password" not in added.err
    again = run(cluster, "users", "add", "frank", stdin=b"a-password\n")
    assert logged(again) == [("dray users add", ["USER:frank"], "failed")]
    run(cluster, "acls", "add", "User:frank", "read,write", "--topic", "orders")
    ((api, subjects, outcome),) = logged(run(cluster, "acls", "remove", "User:frank", "--topic", "orders"))
    assert (api, len(subjects), outcome) == ("dray acls remove", 2, "ok")
    assert all("orders" in subject and "User:frank" in subject for subject in subjects)
    ((api, (subject,), _),) = logged(
        run(cluster, "quotas", "set", "--user", "frank", "--producer-byte-rate", "1")
    )
    assert (api, "user=frank" in subject, "producer_byte_rate=1.0" in subject) == ("dray quotas", True, True)
    for command in ("users", "acls", "quotas"):
        assert logged(run(cluster, command, "list")) == []


def test_audit_log_of_a_command_obeys_the_log_level(cluster: FileCluster) -> None:
    quiet = run(cluster, "users", "add", "grace", "--set", "logging.level=warning", stdin=b"a-password\n")
    assert (quiet.code, quiet.err) == (0, "")
