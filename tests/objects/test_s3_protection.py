"""TLS with a private authority, and encryption of what is stored, on a real S3 server."""

import itertools
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dray.objects.cloud import CloudObjects, S3Encryption, S3Settings, open_s3, open_s3_files
from dray.objects.port import ByteRange, StoreUnusable
from dray.objects.url import StorageUrl
from dray.runtime import SystemClock
from dray.testing import seaweedfs
from dray.testing.seaweedfs import SeaweedFS, ServerTls
from tests.meta.certificates import Authority

pytestmark = [pytest.mark.real("seaweedfs"), pytest.mark.real("openssl")]

CUSTOMER_KEY = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
_numbers = itertools.count()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("seaweedfs-tls")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[SeaweedFS]:
    authority = Authority(folder / "certificates", "ours")
    issued = authority.issue("server")
    (folder / "server").mkdir()
    tls = ServerTls(issued.certificate, issued.key, authority.certificate)
    with seaweedfs.serve(folder / "server", tls) as running:
        running.make_bucket("dray")
        yield running


def opened(settings: S3Settings) -> CloudObjects:
    return open_s3(StorageUrl("s3", "dray", "test"), settings, SystemClock())


async def refused(settings: S3Settings, why: str) -> None:
    store = opened(settings)
    with pytest.raises(StoreUnusable, match=why):
        await store.put_new("refused", [b"1"])
    await store.close()


class TestTls:
    async def test_private_authority_is_trusted(self, server: SeaweedFS) -> None:
        assert server.endpoint.startswith("https://")
        store, path = opened(server.settings()), f"tls-{next(_numbers)}"
        await store.put_new(path, [b"over TLS"])
        assert bytes(await store.get(path)) == b"over TLS"
        await store.close()
        files = open_s3_files(StorageUrl("s3", "dray", "test"), server.settings())
        assert files.read(path) == b"over TLS"

    async def test_unknown_authority_is_refused(self, server: SeaweedFS, tmp_path: Path) -> None:
        why = f"{server.endpoint}: .* is not signed by a known authority; set storage.tls_ca_file"
        await refused(replace(server.settings(), authorities=None), why)
        other = Authority(tmp_path, "other").certificate
        await refused(replace(server.settings(), authorities=str(other)), why)

    async def test_certificate_of_another_host_is_refused(self, server: SeaweedFS) -> None:
        elsewhere = server.endpoint.replace("127.0.0.1", "localhost")
        await refused(
            replace(server.settings(), endpoint=elsewhere), "its certificate is for another host name"
        )

    def test_unusable_files_are_named(self, server: SeaweedFS, tmp_path: Path) -> None:
        text = tmp_path / "text.pem"
        text.write_text("not a certificate")
        for path, why in (
            (tmp_path / "missing.pem", r"cannot read .*missing\.pem: No such file"),
            (text, r"text\.pem contains no certificate; expected a PEM file"),
        ):
            with pytest.raises(StoreUnusable, match=why):
                opened(replace(server.settings(), authorities=str(path)))


ENCRYPTIONS = {
    "s3": S3Encryption(algorithm="AES256"),
    "kms": S3Encryption(algorithm="aws:kms", kms_key_id="alias/dray"),
    "customer": S3Encryption(algorithm="sse-c", customer_key=CUSTOMER_KEY),
}


class TestEncryption:
    @pytest.mark.parametrize("name", [None, *ENCRYPTIONS])
    async def test_disk_has_no_plain_text_of_encrypted_objects(
        self, server: SeaweedFS, folder: Path, name: str | None
    ) -> None:
        encryption = None if name is None else ENCRYPTIONS[name]
        settings = replace(server.settings(), encryption=encryption)
        objects, path = opened(settings), f"encrypted-{next(_numbers)}"
        files = open_s3_files(StorageUrl("s3", "dray", "test"), settings)
        text, more = os.urandom(20_000), os.urandom(20_000)  # the server compresses what can be compressed
        await objects.put_new(path, [text[:5], text[5:]])
        files.write(f"{path}-file", more, overwrite=False)
        assert bytes(await objects.get(path)) == text
        [part] = await objects.get_ranges(path, [ByteRange(9_000, 100)])
        assert bytes(part) == text[9_000:9_100]
        assert (await objects.head(path)).size_bytes == len(text)
        assert files.read(f"{path}-file") == more
        await objects.close()
        shown = [written in _on_disk(folder / "server") for written in (text[:100], more[:100])]
        assert shown == [encryption is None] * 2

    async def test_customer_key_is_needed_to_read(self, server: SeaweedFS) -> None:
        path = f"customer-{next(_numbers)}"
        store = opened(replace(server.settings(), encryption=ENCRYPTIONS["customer"]))
        await store.put_new(path, [b"1"])
        await store.close()
        store = opened(server.settings())
        with pytest.raises(StoreUnusable, match="must provide the customer key"):
            await store.get(path)
        await store.close()

    def test_customer_key_is_not_printed(self, server: SeaweedFS) -> None:
        assert CUSTOMER_KEY not in repr(replace(server.settings(), encryption=ENCRYPTIONS["customer"]))


def _on_disk(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*.dat"))
