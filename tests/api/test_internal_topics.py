"""Internal topics of Kafka: only clients with the id of its admin client may write to them."""

from dray.wire import ErrorCode as E
from dray.wire.apis.produce import ProduceResponse
from tests.api.builders import Broker, on_broker
from tests.oracle.batches import batch
from tests.oracle.requests import Named, produce

INTERNAL = ("__consumer_offsets", "__transaction_state", "__share_group_state")


@on_broker
async def test_only_the_admin_client_may_write_to_internal_topics(broker: Broker) -> None:
    for name in (*INTERNAL, "__others"):
        made = await broker.make_topic(name)
        request = produce(Named(made.name, made.topic_id), batch())
        for version in (3, 12, 13):
            codes = []
            for client in ("other", "__admin_client"):
                response = await broker.ask(ProduceResponse, request, version, client_id=client)
                codes.append(E(response.responses[0].partition_responses[0].error_code))
            refused = E.INVALID_TOPIC_EXCEPTION if name in INTERNAL else E.NONE
            assert codes == [refused, E.NONE]
