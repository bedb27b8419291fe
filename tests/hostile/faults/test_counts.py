"""A compressed batch that counts more records than its bytes can become uses up no offsets.

Each answer is Apache Kafka's too, which opens every batch; how far Dray goes: `dray.records.plausible`.
"""

import pytest

from dray.records import Codec
from dray.wire import ErrorCode as E
from dray.wire.apis.produce import ProduceResponse
from tests.hostile.faults.batches import PACKED, SOUND, counted, packed
from tests.hostile.faults.test_produce_faults import end
from tests.oracle.batches import with_payload
from tests.oracle.requests import produce
from tests.oracle.transcripts import Witness

NOTHING = packed(with_payload(SOUND, b""), Codec.ZSTD)
MOST = 2**31 - 1


@pytest.mark.parametrize("codec", PACKED)
@pytest.mark.parametrize("count", [1_000_000, MOST])
def test_a_count_that_cannot_be_is_refused(witness: Witness, codec: Codec, count: int) -> None:
    refuses(witness, packed(counted(SOUND, count), codec))


def test_records_in_a_frame_that_says_it_is_empty_are_refused(witness: Witness) -> None:
    refuses(witness, NOTHING)


def refuses(witness: Witness, records: bytes) -> None:
    topic = witness.topic("counts")
    came = witness.asker.ask(produce(topic, records), ProduceResponse)
    (one,) = came.responses[0].partition_responses
    assert (E(one.error_code), one.base_offset) == (E.INVALID_RECORD, -1)
    assert end(witness, topic) == 0
