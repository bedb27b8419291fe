"""Servers of Google Cloud Storage and Azure Blob Storage for tests, built once.

*Google.* fake-gcs-server behind `gcs_server/main.go`, which adds the part of the XML API that Dray uses. It
does not check credentials.

*Azure.* Azurite, Microsoft's own emulator. It checks signatures.

Both keep their objects in memory, choose a free port and print it.
"""

import base64
import hashlib
import hmac
import json
import re
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import formatdate
from pathlib import Path
from typing import IO, Final
from urllib.parse import urlencode

from dray.objects.cloud import AzureSettings, GcsSettings
from tests.oracle.cache import made
from tests.oracle.environment import unmeasured

ACCOUNT: Final = "account"
ACCOUNT_KEY: Final = "c2VjcmV0IG9mIHRoZSB0ZXN0"  # base64, like Azure's keys
CONTAINER: Final = "dray"
"""The bucket and the container that the servers begin with."""

_HERE: Final = Path(__file__).parent
_BUILD_S: Final = 600
_ADDRESS: Final = re.compile(r"127\.0\.0\.1:[1-9][0-9]*")
_AZURE_VERSION: Final = "2021-08-06"


class EmulatorError(RuntimeError):
    """A server could not be built, or did not start; the message ends with what it wrote."""


def gcs_program() -> Path:
    """Return the server of Google Cloud Storage, which is built unless it is up to date."""
    source = _HERE / "gcs_server"
    sources = [source / name for name in ("main.go", "go.mod", "go.sum")]

    def build(folder: Path) -> None:
        _run(["go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", str(folder / "gcs")], source)

    return made("gcs-server", sources, build) / "gcs"


def azurite_program() -> Path:
    """Return Azurite's script for blobs, which is installed unless it is up to date."""
    sources = [_HERE / "azurite" / name for name in ("package.json", "package-lock.json", ".npmrc")]

    def install(folder: Path) -> None:
        for source in sources:
            shutil.copy(source, folder)
        _run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], folder)

    return (
        made("azurite", sources, install) / "node_modules" / "azurite" / "dist" / "src" / "blob" / "main.js"
    )


@dataclass(frozen=True, slots=True)
class GcsServer:
    """A running server of Google Cloud Storage."""

    endpoint: str

    def settings(self) -> GcsSettings:
        return GcsSettings(endpoint=self.endpoint, allow_http=True)

    def pairs(self, prefix: str, folder: Path) -> dict[str, str]:
        """Return the settings of a cluster."""
        return {
            "storage.url": f"gs://{CONTAINER}/{prefix}",
            "storage.endpoint": self.endpoint,
            "storage.allow_http": "true",
        }

    def make_bucket(self, name: str) -> None:
        body, kind = json.dumps({"name": name}).encode(), {"Content-Type": "application/json"}
        _send(urllib.request.Request(f"{self.endpoint}/storage/v1/b", body, kind))


@dataclass(frozen=True, slots=True)
class AzureServer:
    """A running server of Azure Blob Storage."""

    endpoint: str

    def settings(self) -> AzureSettings:
        return AzureSettings(
            endpoint=self.endpoint, allow_http=True, account=ACCOUNT, account_key=ACCOUNT_KEY
        )

    def sas_token(self, permissions: str) -> str:
        """Return a shared access signature for the blobs of the account."""
        given = {"sv": _AZURE_VERSION, "ss": "b", "srt": "sco", "sp": permissions, "se": "2099-01-01"}
        signed = [ACCOUNT, permissions, "b", "sco", "", given["se"], "", "", _AZURE_VERSION, "", ""]
        return urlencode({**given, "sig": _signature("\n".join(signed))})

    def pairs(self, prefix: str, folder: Path) -> dict[str, str]:
        """Return the settings of a cluster; the account's key is put in `folder`."""
        key = folder / "account-key"
        key.write_text(ACCOUNT_KEY)
        return {
            "storage.url": f"az://{CONTAINER}/{prefix}",
            "storage.endpoint": self.endpoint,
            "storage.allow_http": "true",
            "storage.account": ACCOUNT,
            "storage.account_key": f"file:{key}",
        }

    def make_container(self, name: str) -> None:
        """Create a container; the request is signed here, because obstore has no call for it."""
        date = formatdate(usegmt=True)
        headers = f"x-ms-date:{date}\nx-ms-version:{_AZURE_VERSION}"
        # Method, eleven empty standard headers, Azure's own, then the resource: emulators repeat the account.
        resource = f"/{ACCOUNT}/{ACCOUNT}/{name}\nrestype:container"
        signed = "\n".join(["PUT", *[""] * 11, headers, resource])
        given = {
            "Authorization": f"SharedKey {ACCOUNT}:{_signature(signed)}",
            "x-ms-date": date,
            "x-ms-version": _AZURE_VERSION,
        }
        url = f"{self.endpoint}/{name}?restype=container"
        _send(urllib.request.Request(url, headers=given, method="PUT"))


def _signature(text: str) -> str:
    digest = hmac.digest(base64.b64decode(ACCOUNT_KEY), text.encode(), hashlib.sha256)
    return base64.b64encode(digest).decode()


@contextmanager
def serve_gcs() -> Iterator[GcsServer]:
    with _started([str(gcs_program())], {}) as address:
        server = GcsServer(f"http://{address}")
        server.make_bucket(CONTAINER)
        yield server


@contextmanager
def serve_azure() -> Iterator[AzureServer]:
    options = ["--blobPort", "0", "--inMemoryPersistence", "--disableTelemetry"]
    command = ["node", str(azurite_program()), *options, "--silent"]
    with _started(command, {"AZURITE_ACCOUNTS": f"{ACCOUNT}:{ACCOUNT_KEY}"}) as address:
        server = AzureServer(f"http://{address}/{ACCOUNT}")
        server.make_container(CONTAINER)
        yield server


@contextmanager
def _started(command: Sequence[str], variables: Mapping[str, str]) -> Iterator[str]:
    """Run a server and yield the address that it prints when it accepts connections."""
    process = subprocess.Popen(
        command,
        env={**unmeasured(), **variables},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield _address(process.stdout, command)
    finally:
        process.kill()
        process.communicate()


def _address(output: IO[str], command: Sequence[str]) -> str:
    written = []
    for line in output:
        written.append(line)
        if found := _ADDRESS.search(line):
            return found[0]
    raise EmulatorError(f"`{' '.join(command)}` has ended without an address:\n{''.join(written)[-3000:]}")


def _run(command: list[str], folder: Path) -> None:
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=_BUILD_S, check=False)
    if ran.returncode:
        wrote = (ran.stdout + ran.stderr)[-3000:]
        raise EmulatorError(f"`{' '.join(command)}` failed with {ran.returncode}:\n{wrote}")


def _send(request: urllib.request.Request) -> None:
    with urllib.request.urlopen(request, timeout=30):
        pass
