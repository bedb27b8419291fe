"""`dray consume` of a topic in which a batch cannot be read: what is before it is shown, and it is named."""

import pytest

from dray.records import Codec
from dray.testing.broker import EmbeddedBroker
from dray.wire.apis.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from dray.wire.apis.produce import ProduceResponse
from tests.cli.calling import call, good, new_topic
from tests.oracle.asking import asking
from tests.oracle.batches import batch, patched
from tests.oracle.requests import Named, produce

NO_GZIP = patched(batch(b"c", b"d"), attributes=Codec.GZIP)
"""Says that it is compressed, which a broker believes."""


@pytest.fixture
def damaged(kafka: EmbeddedBroker) -> str:
    """A topic with records at 0 and 1, rubbish at 2 and 3, and a record at 4."""
    name = new_topic(kafka)
    with asking((kafka.host, kafka.port), 30) as asker:
        wanted = MetadataRequest(topics=[MetadataRequestTopic(name=name)])
        (told,) = asker.ask(wanted, MetadataResponse).topics
        for records in (batch(b"a", b"b"), NO_GZIP, batch(b"e")):
            answer = asker.ask(produce(Named(name, told.topic_id), records), ProduceResponse)
            assert answer.responses[0].partition_responses[0].error_code == 0
    return name


@pytest.mark.parametrize("options", [[], ["--no-follow"], ["--max=3"], ["--from=1"], ["--from=-4"]])
def test_what_came_before_is_shown_and_the_place_is_named(
    kafka: EmbeddedBroker, damaged: str, options: list[str]
) -> None:
    called = call("consume", damaged, *options, bootstrap=kafka.bootstrap)
    assert called.code == 1
    assert called.lines == (["b"] if {"--from=1", "--from=-4"} & set(options) else ["a", "b"])
    (told,) = called.err.splitlines()
    assert told.startswith(
        f"dray: partition 0 of topic '{damaged}', offset 2: the records there cannot be read"
    )


@pytest.mark.parametrize(
    ("options", "shown"), [(["--max=1"], ["a"]), (["--max=2"], ["a", "b"]), (["--from=4"], ["e"])]
)
def test_who_does_not_want_it_is_not_told_of_it(
    kafka: EmbeddedBroker, damaged: str, options: list[str], shown: list[str]
) -> None:
    assert good("consume", damaged, "--no-follow", *options, kafka=kafka).lines == shown


def test_it_can_be_read_from_inside_and_is_named_by_where_it_was_asked_for(
    kafka: EmbeddedBroker, damaged: str
) -> None:
    called = call("consume", damaged, "--from=3", bootstrap=kafka.bootstrap)
    assert (called.code, called.out) == (1, b"")
    assert f"topic '{damaged}', offset 3: " in called.err
