"""Declared key families: every key that a running cluster writes has one, with its domain and value type."""

import re
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from dray.ids import Domain
from dray.keyspace import KeyFamily
from dray.keyspace.matching import family_of, lives_in
from dray.meta.memory.server import MemoryMetaServer
from dray.meta.port import Check, Conflict, Put, Versions, Write
from dray.testing import broker
from dray.testing.group_sim import simulate as simulate_groups
from dray.testing.sim.tables import simulate_tables
from dray.wire.apis.create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from dray.wire.apis.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from dray.wire.apis.init_producer_id import InitProducerIdResponse
from scripts.metadata_page import value_kinds
from tests.oracle.request_client import request_client
from tests.oracle.requests import idempotent
from tests.oracle.transcripts import ResponseRecorder

_SOURCE = Path(__file__).parents[2] / "src" / "dray"
_GROUP = 32


class Recorder:
    """Records every write to an in-memory metadata store by the family of its key."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()
        self.undeclared: set[str] = set()

    def judge(self, domain: Domain, write: Write) -> None:
        family = family_of(write.key)
        if family is None or not lives_in(family, domain):
            self.undeclared.add(f"{write.key} in {domain}")
            return
        self.seen[family.path] += 1
        if isinstance(write, Put):
            _decode(family, write.value)


def _decode(family: KeyFamily, value: bytes) -> None:
    if family.raw == "array of":
        msgspec.msgpack.decode(value, type=list[value_kinds(family)[0]])  # type: ignore[misc]
    elif family.path == "cluster":
        msgspec.json.decode(value, type=value_kinds(family)[0])
    elif family.values:
        assert msgspec.msgpack.decode(value)[0] in {
            kind.__struct_config__.tag for kind in value_kinds(family)
        }


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    recorder, commit = Recorder(), MemoryMetaServer.commit

    def recorded(
        server: MemoryMetaServer,
        commit_id: str,
        domain: Domain,
        checks: tuple[Check, ...],
        writes: tuple[Write, ...],
    ) -> Versions | Conflict:
        for write in writes:
            recorder.judge(domain, write)
        return commit(server, commit_id, domain, checks, writes)

    monkeypatch.setattr(MemoryMetaServer, "commit", recorded)
    return recorder


def test_brokers_and_compactors_write_declared_keys_only(recorder: Recorder) -> None:
    for seed in range(3):
        simulate_tables(seed)
    assert recorder.undeclared == set()
    assert {path.partition("/")[0] for path in recorder.seen} >= {"compaction", "parquet", "streams", "wal"}


def test_groups_write_declared_keys_only(recorder: Recorder) -> None:
    simulate_groups(10_000)
    assert recorder.undeclared == set()
    assert {"groups/<group>", "group-offsets/<group>/<topic>/<partition>"} <= recorder.seen.keys()


def test_broker_writes_declared_keys_only(recorder: Recorder) -> None:
    with (
        broker({"security.authorizer_enable": "true", "security.super_users": "User:ANONYMOUS"}) as running,
        request_client((running.host, running.port)) as client,
    ):
        ResponseRecorder(client, "seen").topic("t")
        acl = AclCreation(
            resource_type=2, resource_name="t", principal="User:a", host="*", operation=3, permission_type=3
        )
        client.send(CreateAclsRequest(creations=[acl]), CreateAclsResponse)
        client.send(idempotent(), InitProducerIdResponse)
        config = AlterableConfig(name="consumer.session.timeout.ms", value="50000")
        resource = AlterConfigsResource(resource_type=_GROUP, resource_name="g", configs=[config])
        request = IncrementalAlterConfigsRequest(resources=[resource])
        client.send(request, IncrementalAlterConfigsResponse)
    assert recorder.undeclared == set()
    assert recorder.seen.keys() >= {
        "cluster",
        "brokers/<broker id>",
        "topics/<topic>",
        "group-configs/<group>",
        "acls/<pattern>",
        "producer-ids",
    }


def test_keys_are_spelled_in_the_key_space_only() -> None:
    spelled = re.compile(r"/dray/(?:v\d|[\"'{])")
    found = {
        str(path.relative_to(_SOURCE))
        for path in _SOURCE.rglob("*.py")
        if path.parent.name != "keyspace" and spelled.search(path.read_text())
    }
    assert found == set()
