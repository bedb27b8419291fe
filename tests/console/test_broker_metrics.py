"""/metrics of a broker after some traffic: every instrument, with correct values."""

import http.client
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from uuid import uuid4

import pytest
from prometheus_client.parser import text_string_to_metric_families

from dray.testing import EmbeddedBroker, broker
from dray.wire.apis.fetch import FetchResponse
from dray.wire.apis.metadata import MetadataRequest, MetadataResponse
from dray.wire.apis.produce import ProduceResponse
from scripts import metrics_page
from tests.hostile.attacks import connected, framed, is_closed, until
from tests.oracle.batches import batch
from tests.oracle.request_client import Closed, RequestClient, frame_of, request_client
from tests.oracle.requests import Named, fetch, part, produce
from tests.oracle.transcripts import ResponseRecorder

WAIT_MS = 300


@pytest.fixture
def target(tmp_path: Path) -> Iterator[EmbeddedBroker]:
    stores = {"metadata.url": f"sqlite:{tmp_path}/meta", "storage.url": f"file:{tmp_path}/objects"}
    with broker({**stores, "log.tail_cache_bytes_max": "0"}) as running:
        yield running


@pytest.fixture
def client(target: EmbeddedBroker) -> Iterator[RequestClient]:
    with request_client((target.host, target.port)) as client:
        yield client


@pytest.fixture
def topic(client: RequestClient) -> Named:
    return ResponseRecorder(client, uuid4().hex[:8]).topic("counted")


class Scrape:
    """A scrape of /metrics."""

    def __init__(self, target: EmbeddedBroker) -> None:
        host, _, port = target.http.rpartition(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=10)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
        self.families = {family.name: family for family in text_string_to_metric_families(text)}
        self._values = {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in self.families.values()
            for sample in family.samples
        }

    def value(self, name: str, **labels: str) -> float:
        return self._values.get((f"dray_{name}", frozenset(labels.items())), 0.0)


def test_exactly_the_documented_metrics_are_exposed(target: EmbeddedBroker) -> None:
    on_the_page = {one.name.removesuffix("_total"): one.help_text for one in metrics_page.instruments()}
    families = Scrape(target).families
    shown = {name: family.documentation for name, family in families.items() if name.startswith("dray_")}
    assert shown == on_the_page, "add the instruments of a new package to scripts/metrics_page.py"
    assert {"process_resident_memory_bytes", "python_info"} <= families.keys()


def test_requests_errors_and_bytes_are_counted_by_api(
    target: EmbeddedBroker, client: RequestClient, topic: Named
) -> None:
    before = Scrape(target)
    request = produce(topic, batch(b"x" * 1000))
    for _ in range(3):
        client.send(request, ProduceResponse, 9)
    client.send(produce(topic, b"rubbish"), ProduceResponse, 13)
    response = client.exchange(frame_of(fetch(topic, part(), part(99, partition=7)), 12))
    shown = Scrape(target)
    assert shown.value("api_requests_total", api="Produce", version="9") == 3
    assert shown.value("api_requests_total", api="Produce", version="13") == 1
    assert shown.value("api_errors_total", api="Produce", code="INVALID_RECORD") == 1
    assert shown.value("api_errors_total", api="Fetch", code="UNKNOWN_TOPIC_OR_PARTITION") == 1
    sizes = 3 * len(frame_of(request, 9)) + len(frame_of(produce(topic, b"rubbish"), 13))
    assert shown.value("api_received_bytes_total", api="Produce") == sizes
    assert shown.value("api_sent_bytes_total", api="Fetch") == len(response)
    for name in ("request", "processing"):
        assert shown.value(f"api_{name}_seconds_count", api="Produce") == 4
        assert shown.value(f"api_{name}_seconds_sum", api="Produce") > 0
    assert before.value("api_requests_total", api="Produce", version="9") == 0


def test_long_poll_counts_in_the_request_time_of_a_fetch_but_not_in_its_processing_time(
    target: EmbeddedBroker, client: RequestClient, topic: Named
) -> None:
    client.send(fetch(topic, part(), max_wait_ms=WAIT_MS), FetchResponse)
    shown = Scrape(target)
    assert shown.value("api_request_seconds_sum", api="Fetch") >= WAIT_MS / 1000
    assert 0 < shown.value("api_processing_seconds_sum", api="Fetch") < WAIT_MS / 1000


def test_log_and_store_operations_are_counted(
    target: EmbeddedBroker, client: RequestClient, topic: Named
) -> None:
    client.send(produce(topic, batch(b"x" * 1000)), ProduceResponse)
    client.send(fetch(topic, part()), FetchResponse)
    shown = Scrape(target)
    assert shown.value("log_flush_bytes_count") == shown.value("log_flush_seconds_count") >= 1
    assert shown.value("log_flush_bytes_sum") > 1000
    assert shown.value("log_commit_seconds_count") >= 1
    assert shown.value("log_chunk_reads_total", source="objects") == 1
    assert shown.value("objects_requests_total", operation="put", outcome="ok") >= 1
    assert shown.value("objects_bytes_total", operation="get_ranges") > 1000
    assert shown.value("objects_request_seconds_count", operation="put") >= 1
    for operation in ("get", "commit", "watch", "session"):
        assert shown.value("meta_requests_total", operation=operation, outcome="ok") >= 1
        assert shown.value("meta_request_seconds_count", operation=operation) >= 1
    assert shown.value("meta_watch_batches_total") > 0
    for gauge in ("log_buffered_bytes", "log_reading_bytes", "net_waiting_connections"):
        assert (f"dray_{gauge}" in shown.families, shown.value(gauge)) == (True, 0)


def test_connections_and_bytes_in_flight_are_counted(target: EmbeddedBroker) -> None:
    def closed(cause: str) -> float:
        return Scrape(target).value("net_closed_connections_total", cause=cause)

    with ExitStack() as open_:
        waiting = open_.enter_context(connected(target))
        for _ in range(4):
            open_.enter_context(connected(target))
        requested = framed(frame_of(MetadataRequest(topics=[]), 9))
        waiting.sendall(requested[:-1])
        assert until(lambda: Scrape(target).value("net_open_connections", listener="PLAINTEXT") == 5)
        assert until(lambda: Scrape(target).value("net_in_flight_bytes") >= len(requested) - 5)
        waiting.sendall(requested[-1:])
        assert waiting.recv(4)
        assert until(lambda: Scrape(target).value("net_in_flight_bytes") == 0)
        rude = open_.enter_context(connected(target))
        rude.sendall(framed(b"no request"))
        assert is_closed(rude)
        huge = open_.enter_context(connected(target))
        huge.sendall(b"\x7f\xff\xff\xff")
        assert is_closed(huge)
        assert until(lambda: closed("refused") == 1 and closed("too_large") == 1)
    assert until(lambda: closed("client") == 5)
    assert Scrape(target).value("net_open_connections", listener="PLAINTEXT") == 0


def test_failed_produce_with_acks_0_counts_as_a_refused_connection(
    target: EmbeddedBroker, client: RequestClient, topic: Named
) -> None:
    with suppress(Closed):
        client.send(produce(topic, b"rubbish", acks=0), ProduceResponse, 9)
    assert client.send(MetadataRequest(topics=[]), MetadataResponse, 9).error_code == 0
    assert Scrape(target).value("net_closed_connections_total", cause="refused") == 1
