"""Requests that the GCS and Azure adapters send, and their errors.

A scripted server shows each request, and sends the responses that the emulators of `test_gcs.py` and
`test_azure.py` never send: refused credentials and throttling at Google, both clouds' own error codes, and
Azure's response to a range of an empty blob.
"""

import base64
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

import pytest

from dray.objects.cloud import AzureSettings, CloudObjects, GcsSettings, open_azure, open_gcs
from dray.objects.port import AlreadyExists, ByteRange, NotFound, OutOfRange, StoreUnusable, Unavailable
from dray.objects.url import parse_storage_url
from dray.runtime import SystemClock
from tests.objects.scripted_http import STORED, Reply, found, refusal, scripted

ACCOUNT_KEY = "c2VjcmV0IG9mIHRoZSB0ZXN0"  # base64, like Azure's keys


def gcs(endpoint: str) -> CloudObjects:
    # Google's format for emulators: an account that needs no token.
    key = {"disable_oauth": True, "client_email": "", "private_key": "", "private_key_id": ""}
    settings = GcsSettings(endpoint=endpoint, allow_http=True, service_account_key=json.dumps(key))
    return open_gcs(parse_storage_url("gs://bucket/prefix"), settings, SystemClock())


def azure(endpoint: str) -> CloudObjects:
    settings = AzureSettings(endpoint=endpoint, allow_http=True, account="account", account_key=ACCOUNT_KEY)
    return open_azure(parse_storage_url("az://container/prefix"), settings, SystemClock())


async def test_gcs_put_is_conditional() -> None:
    async with scripted(STORED) as server:
        store = gcs(server.endpoint)
        await store.put_new("wal/x", [b"ab", b"cd"])
        await store.close()
    [request] = server.requests
    assert (request.method, unquote(request.target)) == ("PUT", "/bucket/prefix/wal/x")
    assert request.headers["x-goog-if-generation-match"] == "0"
    assert request.body == b"abcd"


@pytest.fixture
def service_account(tmp_path: Path) -> Path:
    """Return a key file as Google issues them."""
    private = subprocess.run(["openssl", "genrsa", "2048"], capture_output=True, text=True, check=True)
    key = {"type": "service_account", "client_email": "dray@test", "private_key": private.stdout}
    path = tmp_path / "key.json"
    path.write_text(json.dumps({**key, "private_key_id": "1", "client_id": "2"}))
    return path


@pytest.mark.real("openssl")
async def test_gcs_requests_carry_a_token_of_the_service_account(service_account: Path) -> None:
    async with scripted(found(b"content")) as server:
        settings = GcsSettings(
            endpoint=server.endpoint, allow_http=True, service_account_path=str(service_account)
        )
        store = open_gcs(parse_storage_url("gs://bucket/prefix"), settings, SystemClock())
        assert bytes(await store.get("x")) == b"content"
        await store.close()
    kind, _, token = server.requests[0].headers["authorization"].partition(" ")
    claims = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))
    assert (kind, claims["iss"]) == ("Bearer", "dray@test")


async def test_azure_put_is_conditional() -> None:
    async with scripted(Reply(201, headers={"ETag": '"e"'})) as server:
        store = azure(server.endpoint)
        await store.put_new("wal/x", [b"ab", b"cd"])
        await store.close()
    [request] = server.requests
    assert (request.method, request.target) == ("PUT", "/container/prefix/wal/x")
    assert request.headers["if-none-match"] == "*"
    assert request.headers["x-ms-blob-type"] == "BlockBlob"
    assert request.headers["authorization"].startswith("SharedKey account:")
    assert request.body == b"abcd"


@pytest.mark.parametrize("open_at", [gcs, azure])
async def test_both_read_objects_and_ranges(open_at: Callable[[str], CloudObjects]) -> None:
    async with scripted(found(b"the object")) as server:
        store = open_at(server.endpoint)
        assert bytes(await store.get("x")) == b"the object"
        await store.close()
    assert unquote(server.requests[0].target).endswith("/prefix/x")


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (refusal(412, "PreconditionFailed"), AlreadyExists),
        (refusal(404, "NoSuchBucket"), StoreUnusable),
        (refusal(403, "AccessDenied"), StoreUnusable),
        (refusal(503, "ServiceUnavailable"), Unavailable),
        (refusal(429, "TooManyRequests"), Unavailable),
    ],
)
async def test_gcs_errors_are_translated(reply: Reply, expected: type[Exception]) -> None:
    async with scripted(reply) as server:
        store = gcs(server.endpoint)
        with pytest.raises(expected, match="gs://bucket/prefix at"):
            await store.put_new("x", [b"1"])
        await store.close()


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (refusal(409, "BlobAlreadyExists"), AlreadyExists),
        (refusal(412, "ConditionNotMet"), AlreadyExists),
        (refusal(404, "ContainerNotFound"), StoreUnusable),
        (refusal(403, "AuthenticationFailed"), StoreUnusable),
        (refusal(503, "ServerBusy"), Unavailable),
    ],
)
async def test_azure_errors_are_translated(reply: Reply, expected: type[Exception]) -> None:
    async with scripted(reply) as server:
        store = azure(server.endpoint)
        with pytest.raises(expected, match="az://container/prefix at"):
            await store.put_new("x", [b"1"])
        await store.close()


@pytest.mark.parametrize("open_at", [gcs, azure])
async def test_range_of_an_empty_object_is_an_error(open_at: Callable[[str], CloudObjects]) -> None:
    async with scripted(refusal(416, "InvalidRange")) as server:
        store = open_at(server.endpoint)
        with pytest.raises(OutOfRange):
            await store.get_ranges("empty", [ByteRange(0, 1)])
        await store.close()


@pytest.mark.parametrize("open_at", [gcs, azure])
async def test_deleting_a_missing_object_succeeds(open_at: Callable[[str], CloudObjects]) -> None:
    async with scripted(refusal(404, "BlobNotFound")) as server:
        store = open_at(server.endpoint)
        await store.delete("x")
        with pytest.raises(NotFound):
            await store.get("x")
        await store.close()
    assert server.requests[0].method in ("DELETE", "POST")
