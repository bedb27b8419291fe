"""`dray consume` of damaged records: everything before them is printed, then their place is reported.

A broker refuses such batches, so that a scripted one serves them here, as if its disk had lost bits.
"""

from collections.abc import Iterator

import pytest
from typing_extensions import Buffer

from dray.records import Codec
from dray.wire import Message
from dray.wire.apis.fetch import FETCH, FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from dray.wire.apis.list_offsets import (
    LIST_OFFSETS,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from tests.cli.invoking import invoke
from tests.client.scripted_broker import TOPIC, ScriptedBroker
from tests.oracle.batches import batch, patched

END = 5
BATCHES = {
    0: batch(b"a", b"b"),
    2: patched(batch(b"c", b"d"), base_offset=2, attributes=Codec.GZIP),  # claims a compression it lacks
    4: patched(batch(b"e"), base_offset=4),
}


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    """A broker whose topic has records at 0 and 1, damaged ones at 2 and 3, and a record at 4."""
    broker = ScriptedBroker()
    broker.on(FETCH.key, _fetch)
    broker.on(LIST_OFFSETS.key, _list_offsets)
    with broker.running():
        yield str(broker.address)


def _fetch(request: Message) -> Message:
    assert isinstance(request, FetchRequest)
    if not request.topics:
        return FetchResponse(responses=[])
    offset = request.topics[0].partitions[0].fetch_offset
    records: list[Buffer] = [data for base, data in BATCHES.items() if offset < base + 2 and offset < END]
    partition = PartitionData(high_watermark=END, last_stable_offset=END, log_start_offset=0, records=records)
    return FetchResponse(responses=[FetchableTopicResponse(topic=TOPIC, partitions=[partition])])


def _list_offsets(request: Message) -> Message:
    assert isinstance(request, ListOffsetsRequest)
    earliest = request.topics[0].partitions[0].timestamp == -2
    partition = ListOffsetsPartitionResponse(offset=0 if earliest else END)
    return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name=TOPIC, partitions=[partition])])


@pytest.mark.parametrize("options", [[], ["--no-follow"], ["--max=3"], ["--from=1"], ["--from=-4"]])
def test_records_before_the_damage_are_printed_and_its_offset_is_reported(
    bootstrap: str, options: list[str]
) -> None:
    result = invoke("consume", TOPIC, *options, bootstrap=bootstrap)
    assert result.code == 1
    assert result.lines == (["b"] if {"--from=1", "--from=-4"} & set(options) else ["a", "b"])
    (error,) = result.err.splitlines()
    assert error.startswith(
        f"dray: partition 0 of topic '{TOPIC}', offset 2: the records there cannot be read"
    )


@pytest.mark.parametrize(
    ("options", "lines"), [(["--max=1"], ["a"]), (["--max=2"], ["a", "b"]), (["--from=4"], ["e"])]
)
def test_damage_outside_the_requested_records_is_not_reported(
    bootstrap: str, options: list[str], lines: list[str]
) -> None:
    result = invoke("consume", TOPIC, "--no-follow", *options, bootstrap=bootstrap)
    assert (result.code, result.err) == (0, "")
    assert result.lines == lines


def test_damage_is_reported_at_the_offset_where_reading_started(bootstrap: str) -> None:
    result = invoke("consume", TOPIC, "--from=3", bootstrap=bootstrap)
    assert (result.code, result.out) == (1, b"")
    assert f"topic '{TOPIC}', offset 3: " in result.err
