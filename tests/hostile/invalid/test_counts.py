"""Compressed batches whose record count exceeds what their bytes can hold: refused, without using offsets.

Apache Kafka, which decompresses every batch, returns the same. How Dray decides:
`dray.records.decompression_bounds`.
"""

import pytest

from dray.records import Codec
from dray.wire import ErrorCode as E
from dray.wire.apis.produce import ProduceResponse
from tests.hostile.invalid.batches import PACKED, VALID, counted, packed
from tests.hostile.invalid.test_produce_errors import end
from tests.oracle.batches import with_payload
from tests.oracle.requests import produce
from tests.oracle.transcripts import ResponseRecorder

NOTHING = packed(with_payload(VALID, b""), Codec.ZSTD)
MOST = 2**31 - 1


@pytest.mark.parametrize("codec", PACKED)
@pytest.mark.parametrize("count", [1_000_000, MOST])
def test_impossible_record_count_is_refused(recorder: ResponseRecorder, codec: Codec, count: int) -> None:
    refuses(recorder, packed(counted(VALID, count), codec))


def test_records_in_a_batch_with_count_0_are_refused(recorder: ResponseRecorder) -> None:
    refuses(recorder, NOTHING)


def refuses(recorder: ResponseRecorder, records: bytes) -> None:
    topic = recorder.topic("counts")
    response = recorder.client.send(produce(topic, records), ProduceResponse)
    (one,) = response.responses[0].partition_responses
    assert (E(one.error_code), one.base_offset) == (E.INVALID_RECORD, -1)
    assert end(recorder, topic) == 0
