"""The cloud adapter with servers that throttle, hang, truncate or refuse."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from obstore.exceptions import GenericError

from dray.objects.cloud import AzureSettings, CloudObjects, S3Settings, open_azure, open_s3
from dray.objects.cloud.errors import StoreLocation, translate
from dray.objects.port import (
    AlreadyExists,
    ByteRange,
    NotFound,
    ObjectError,
    OutOfRange,
    StoreUnusable,
    Unavailable,
)
from dray.objects.retrying import ObjectRetries, Retrying
from dray.objects.url import StorageUrl
from dray.runtime import RetrySettings, SystemClock
from dray.testing.contracts.objects import paths_of
from dray.testing.entropy import SeededEntropy
from tests.objects.scripted_http import (
    STORED,
    Reply,
    ScriptedServer,
    found,
    found_range,
    refusal,
    scripted,
)

pytestmark = pytest.mark.slow

SETTINGS = S3Settings(access_key="key-of-test", secret_key="secret-of-test", allow_http=True, request_s=10.0)
BUCKET = StorageUrl("s3", "bucket", "prefix")
SLOW_DOWN = refusal(503, "SlowDown", "Please reduce your request rate.")
SILENT = Reply(manner="silent")
QUICK = ObjectRetries(RetrySettings(first_ms=1, max_ms=2, attempts=5), attempt_ms=5_000)


@asynccontextmanager
async def store_at(
    *replies: Reply, request_s: float = 10.0
) -> AsyncIterator[tuple[CloudObjects, ScriptedServer]]:
    async with scripted(*replies) as server:
        settings = replace(SETTINGS, endpoint=server.endpoint, request_s=request_s)
        store = open_s3(BUCKET, settings, SystemClock())
        yield store, server
        await store.close()


def retrying(store: CloudObjects, settings: ObjectRetries = QUICK) -> Retrying:
    return Retrying(store, SystemClock(), SeededEntropy(1), settings)


async def test_put_is_one_conditional_request() -> None:
    async with store_at(STORED) as (store, server):
        await store.put_new("wal/x", [b"ab", memoryview(b"-cd-")[1:3], bytearray(6 * 1024 * 1024)])
    [request] = server.requests
    assert (request.method, request.target) == ("PUT", "/bucket/prefix/wal/x")
    assert request.headers["if-none-match"] == "*"
    assert request.headers["x-amz-content-sha256"] == "UNSIGNED-PAYLOAD"
    assert request.body == b"abcd" + bytes(6 * 1024 * 1024)


async def test_adapter_does_not_retry() -> None:
    async with store_at(SLOW_DOWN) as (store, server):
        with pytest.raises(Unavailable, match=r"put of x in s3://bucket/prefix at http.*503 SlowDown"):
            await store.put_new("x", [b"1"])
    assert len(server.requests) == 1


async def test_throttled_put_is_retried_until_it_succeeds() -> None:
    async with store_at(SLOW_DOWN, SLOW_DOWN, SLOW_DOWN, STORED) as (store, server):
        await retrying(store).put_new("x", [b"bytes"])
    assert [request.body for request in server.requests] == [b"bytes"] * 4


async def test_put_throttled_for_too_long_reports_its_attempts() -> None:
    async with store_at(SLOW_DOWN) as (store, server):
        with pytest.raises(Unavailable, match=r"put of x failed 5 times in \d+\.\d s, last with: .*SlowDown"):
            await retrying(store).put_new("x", [b"bytes"])
    assert len(server.requests) == 5


async def test_missing_response_is_unavailable() -> None:
    async with store_at(SILENT, request_s=0.2) as (store, _):
        with pytest.raises(Unavailable, match="no response in time"):
            await store.get("x")
        with pytest.raises(Unavailable, match="no response in time"):
            await store.put_new("x", [b"1"])


async def test_hanging_attempt_times_out_and_is_retried() -> None:
    async with store_at(SILENT, found(b"at last")) as (store, server):
        patient = retrying(store, replace(QUICK, attempt_ms=200))
        assert bytes(await patient.get("x")) == b"at last"
    assert len(server.requests) == 2


async def test_put_that_timed_out_but_happened_succeeds() -> None:
    taken = refusal(412, "PreconditionFailed")
    async with store_at(SILENT, taken, found(b"ours")) as (store, server):
        await retrying(store, replace(QUICK, attempt_ms=200)).put_new("x", [b"ou", b"rs"])
    assert [request.method for request in server.requests] == ["PUT", "PUT", "GET"]


async def test_put_that_timed_out_while_another_won_fails() -> None:
    taken = refusal(412, "PreconditionFailed")
    async with store_at(SILENT, taken, found(b"them")) as (store, _):
        with pytest.raises(AlreadyExists):
            await retrying(store, replace(QUICK, attempt_ms=200)).put_new("x", [b"ou", b"rs"])


async def test_truncated_read_is_unavailable_and_retried() -> None:
    body = bytes(range(256)) * 400
    async with store_at(found(body, manner="torn"), found(body)) as (store, server):
        with pytest.raises(Unavailable, match=r"was (?:interrupted|truncated)"):
            await store.get("x")
        assert bytes(await store.get("x")) == body
    part = found_range(body[10:90_000], 10, len(body), torn=True)
    async with store_at(part, found_range(body[10:90_000], 10, len(body))) as (store, server):
        [got] = await retrying(store).get_ranges("x", [ByteRange(10, 89_990)])
        assert bytes(got) == body[10:90_000]
    assert len(server.requests) == 2


async def test_short_response_is_investigated() -> None:
    short = found_range(b"abc", 0, 10)
    async with store_at(short, found(b"0123456789")) as (store, _):
        with pytest.raises(Unavailable, match=r"0\.\.5, got 0\.\.3"):
            await store.get_ranges("x", [ByteRange(0, 5)])
    async with store_at(found_range(b"abc", 0, 3), found(b"abc")) as (store, _):
        with pytest.raises(OutOfRange, match="x has 3 bytes"):
            await store.get_ranges("x", [ByteRange(0, 5)])


async def test_conflicting_creations_are_retried() -> None:
    met = refusal(409, "ConditionalRequestConflict")
    async with store_at(met) as (store, _):
        with pytest.raises(Unavailable, match="ConditionalRequestConflict"):
            await store.put_new("x", [b"1"])


async def test_refused_connection_is_unavailable() -> None:
    async with store_at(STORED) as (_, server):
        endpoint = server.endpoint
    store = open_s3(BUCKET, replace(SETTINGS, endpoint=endpoint), SystemClock())
    with pytest.raises(Unavailable, match=f"read of x in s3://bucket/prefix at {endpoint}: no connection"):
        await store.get("x")
    with pytest.raises(Unavailable, match=r"list of w.*no connection"):
        await paths_of(store, "w")
    await store.close()


@pytest.mark.parametrize(
    ("status", "code", "expected", "advice"),
    [
        (404, "NoSuchBucket", StoreUnusable, "create the bucket"),
        (404, "NoSuchKey", NotFound, "HTTP 404"),
        (403, "AccessDenied", StoreUnusable, "check the access key"),
        (401, "Unauthorized", StoreUnusable, "check the access key"),
        (403, "RequestTimeTooSkewed", StoreUnusable, "clock"),
        (400, "AuthorizationHeaderMalformed", StoreUnusable, "set the region"),
        (400, "RequestTimeout", Unavailable, "HTTP 400"),
        (400, "InvalidArgument", StoreUnusable, "check the settings"),
        (429, "TooManyRequests", Unavailable, "HTTP 429"),
        (500, "InternalError", Unavailable, "HTTP 500"),
        (502, "BadGateway", Unavailable, "HTTP 502"),
        (416, "InvalidRange", OutOfRange, "HTTP 416"),
    ],
)
async def test_error_responses_are_translated(
    status: int, code: str, expected: type[ObjectError], advice: str
) -> None:
    async with store_at(refusal(status, code)) as (store, _):
        with pytest.raises(ObjectError, match=advice) as caught:
            await store.get_ranges("x", [ByteRange(0, 1)])
    assert type(caught.value) is expected
    assert "s3://bucket/prefix at http://127.0.0.1" in str(caught.value)
    assert code in str(caught.value)
    assert "secret-of-test" not in str(caught.value)
    assert "Signature" not in str(caught.value)


async def test_redirect_means_wrong_region() -> None:
    async with store_at(refusal(301, "PermanentRedirect")) as (store, _):
        with pytest.raises(StoreUnusable, match="set the region"):
            await store.get("x")


async def test_head_distinguishes_a_missing_bucket_from_a_missing_object() -> None:
    async with store_at(Reply(404), refusal(404, "NoSuchBucket")) as (store, _):
        with pytest.raises(StoreUnusable, match="create the bucket"):
            await store.head("x")


async def test_object_too_large_for_one_request_is_refused() -> None:
    async with store_at(STORED) as (store, server):
        block = memoryview(bytearray(1024 * 1024))
        with pytest.raises(ValueError, match=r"may put at most 5368709120; lower .*file_bytes_target"):
            await store.put_new("x", [block] * 5_121)
    assert server.requests == []


async def test_limit_of_azure_is_that_of_put_blob() -> None:
    async with scripted(STORED) as server:
        settings = AzureSettings(endpoint=server.endpoint, allow_http=True, account="a", account_key="a2V5")
        store = open_azure(StorageUrl("az", "container", ""), settings, SystemClock())
        with pytest.raises(ValueError, match="may put at most 5242880000"):
            await store.put_new("x", [memoryview(bytearray(1024 * 1024))] * 5_001)
        await store.close()
    assert server.requests == []


async def test_closed_store_refuses_calls() -> None:
    async with store_at(found(b"")) as (store, _):
        await store.close()
        with pytest.raises(StoreUnusable, match="closed"):
            await store.get("x")


async def test_close_does_not_wait_forever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dray.objects.cloud.store._CALLS_END_S", 0.05)
    async with store_at(SILENT, request_s=1.0) as (store, _):
        read = asyncio.create_task(store.get("x"))
        await asyncio.sleep(0)
        await store.close()
        assert not read.done()
        with pytest.raises(Unavailable, match="no response in time"):
            await read


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "GET http://169.254.169.254/latest/api/token in 1s - HTTP error: error sending request",
            Unavailable,
        ),
        (
            "GET http://169.254.169.254/token - Server returned non-2xx status code: 404 Not Found",
            StoreUnusable,
        ),
    ],
)
def test_missing_credentials_are_reported(text: str, expected: type[ObjectError]) -> None:
    translated = translate(GenericError(text), StoreLocation("s3://bucket", "S3"), "put of x")
    assert type(translated) is expected
    assert str(translated).startswith("put of x in s3://bucket at S3: no credentials are set")


def test_signed_url_is_not_part_of_the_error() -> None:
    translated = translate(
        GenericError("odd: https://host/x?sig=SECRET"), StoreLocation("az://c", "Azure"), "put of x"
    )
    assert str(translated) == "put of x in az://c at Azure: odd: https://host/x"
