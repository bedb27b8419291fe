"""DescribeClientQuotas and AlterClientQuotas; `tests/oracle/scenarios/quotas.py` compares them with Kafka."""

import pytest

from dray.keyspace import CLUSTER_DOMAIN, client_quotas_range
from dray.quotas import CLIENT_ID, IP, USER
from dray.wire import ErrorCode
from dray.wire.apis import alter_client_quotas as altering
from dray.wire.apis import describe_client_quotas as describing
from tests.api.builders import Broker, Cluster, on_broker, on_cluster

EXACT, DEFAULT, ANY = range(3)
PRODUCED, CONSUMED = "producer_byte_rate", "consumer_byte_rate"
Names = dict[str, str | None]


def entry(names: Names, **limits: float | None) -> altering.EntryDataRequest:
    return altering.EntryDataRequest(
        entity=[altering.EntityData(entity_type=kind, entity_name=name) for kind, name in names.items()],
        ops=[
            altering.OpData(key=key, value=limit or 0.0, remove=limit is None)
            for key, limit in limits.items()
        ],
    )


async def alter(
    broker: Broker, *entries: altering.EntryDataRequest, validate_only: bool = False
) -> list[tuple[int, str | None]]:
    request = altering.AlterClientQuotasRequest(entries=list(entries), validate_only=validate_only)
    answer = await broker.ask(altering.AlterClientQuotasResponse, request)
    return [(one.error_code, one.error_message) for one in answer.entries]


async def describe(
    broker: Broker, *components: tuple[str, int, str | None], strict: bool = False
) -> describing.DescribeClientQuotasResponse:
    asked = [
        describing.ComponentData(entity_type=kind, match_type=match, match=name)
        for kind, match, name in components
    ]
    request = describing.DescribeClientQuotasRequest(components=asked, strict=strict)
    return await broker.ask(describing.DescribeClientQuotasResponse, request)


async def found(
    broker: Broker, *components: tuple[str, int, str | None], strict: bool = False
) -> list[tuple[Names, dict[str, float]]]:
    answer = await describe(broker, *components, strict=strict)
    assert answer.error_code == 0
    return [
        ({part.entity_type: part.entity_name for part in one.entity}, {v.key: v.value for v in one.values})
        for one in answer.entries or []
    ]


@on_broker
async def test_quotas_are_described_sorted_with_defaults_first(broker: Broker) -> None:
    entities: list[Names] = [{CLIENT_ID: "a", USER: "b"}, {USER: "b"}, {CLIENT_ID: "a"}, {CLIENT_ID: None}]
    assert (
        await alter(broker, *(entry(names, producer_byte_rate=1.0) for names in entities)) == [(0, None)] * 4
    )
    assert await found(broker) == [
        (names, {PRODUCED: 1.0})
        for names in ({CLIENT_ID: None}, {CLIENT_ID: "a"}, {CLIENT_ID: "a", USER: "b"}, {USER: "b"})
    ]
    assert await found(broker, (USER, EXACT, "b"), strict=True) == [({USER: "b"}, {PRODUCED: 1.0})]
    assert await found(broker, (CLIENT_ID, DEFAULT, None)) == [({CLIENT_ID: None}, {PRODUCED: 1.0})]
    assert len(await found(broker, (USER, ANY, None))) == 2


@on_broker
async def test_changes_of_an_entity_are_made_together_or_not_at_all(broker: Broker) -> None:
    await alter(broker, entry({USER: "a"}, producer_byte_rate=1.0, consumer_byte_rate=2.0))
    await alter(broker, entry({USER: "a"}, producer_byte_rate=None, request_percentage=3.0))
    assert await found(broker) == [({USER: "a"}, {CONSUMED: 2.0, "request_percentage": 3.0})]
    ((code, message),) = await alter(broker, entry({USER: "a"}, producer_byte_rate=5.0, nonsense=1.0))
    assert (code, message) == (ErrorCode.INVALID_REQUEST, "Invalid configuration key nonsense")
    assert await found(broker) == [({USER: "a"}, {CONSUMED: 2.0, "request_percentage": 3.0})]


@on_broker
async def test_validation_changes_nothing(broker: Broker) -> None:
    valid, invalid = entry({IP: "::1"}, connection_creation_rate=1.0), entry({}, producer_byte_rate=1.0)
    results = await alter(broker, valid, invalid, validate_only=True)
    assert results == [(0, None), (ErrorCode.INVALID_REQUEST, "Invalid empty client quota entity")]
    assert await found(broker) == []


@on_broker
async def test_entity_that_is_named_twice_keeps_the_first_change(broker: Broker) -> None:
    first, second = (entry({USER: "a"}, producer_byte_rate=limit) for limit in (1.0, 2.0))
    ((code, message),) = await alter(broker, first, second)
    assert code == ErrorCode.INVALID_REQUEST
    assert message == "Ignoring duplicate entity ClientQuotaEntity(entries={user=a})"
    assert await found(broker) == [({USER: "a"}, {PRODUCED: 1.0})]


@pytest.mark.parametrize(
    ("component", "code", "message"),
    [
        (("", ANY, None), ErrorCode.INVALID_REQUEST, "Invalid empty entity type."),
        (("host", ANY, None), ErrorCode.UNSUPPORTED_VERSION, "Unsupported entity type host"),
    ],
)
def test_invalid_filter_is_refused(
    component: tuple[str, int, str | None], code: ErrorCode, message: str
) -> None:
    @on_broker
    async def body(broker: Broker) -> None:
        answer = await describe(broker, component)
        assert (answer.error_code, answer.error_message, answer.entries) == (code, message, None)

    body()


@on_cluster
async def test_unavailable_store_is_an_error_of_each_entity(cluster: Cluster) -> None:
    broker = await cluster.broker()
    broker.link.unavailable = True
    results = await alter(broker, entry({USER: "a"}, producer_byte_rate=1.0))
    assert [code for code, _ in results] == [ErrorCode.KAFKA_STORAGE_ERROR]
    broker.link.unavailable = False
    meta = cluster.meta("reader", broker.tasks)
    assert await meta.scan(CLUSTER_DOMAIN, *client_quotas_range()) == []
