"""etcd clusters of tests: real servers on free ports, which a test may kill, pause and restart."""

import json
import signal
import socket
import subprocess
import time
import urllib.request
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from ssl import SSLContext
from typing import Final

from dray.testing.ports import free_ports
from tests.meta.etcd_program import etcd_program

_READY_S: Final = 30.0


@dataclass
class Member:
    """One server."""

    name: str
    client_port: int
    peer_port: int
    folder: Path
    scheme: str = "http"
    options: Sequence[str] = ()
    process: subprocess.Popen[bytes] | None = None
    host: str = "127.0.0.1"
    launcher: Sequence[str] = ()
    """The beginning of the command, which becomes the server."""

    @property
    def address(self) -> str:
        return f"{self.host}:{self.client_port}"

    @property
    def peer(self) -> str:
        return f"http://{self.host}:{self.peer_port}"

    def start(self, cluster: str) -> None:
        client, peer = f"{self.scheme}://{self.address}", self.peer
        command = [*self.launcher, str(etcd_program()), "--name", self.name]
        command += ["--data-dir", str(self.folder / self.name)]
        command += ["--listen-client-urls", client, "--advertise-client-urls", client]
        command += ["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer]
        command += ["--initial-cluster", cluster, "--initial-cluster-token", "dray-test"]
        command += ["--log-level", "error", *self.options]
        with (self.folder / f"{self.name}.log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)

    def kill(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()
            self.process = None

    def pause(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)


@dataclass
class EtcdCluster:
    """Servers that form one cluster; use as a context manager. Without members it makes its own."""

    folder: Path
    size: int = 1
    scheme: str = "http"
    options: Sequence[str] = ()
    members: list[Member] = field(default_factory=list)

    def __enter__(self) -> "EtcdCluster":
        self.folder.mkdir(parents=True, exist_ok=True)
        if not self.members:
            ports = free_ports(2 * self.size)
            self.members = [
                Member(f"n{n}", ports[2 * n], ports[2 * n + 1], self.folder, self.scheme, self.options)
                for n in range(self.size)
            ]
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        for member in self.members:
            member.kill()

    @property
    def addresses(self) -> tuple[str, ...]:
        return tuple(member.address for member in self.members)

    def leader(self, within_s: float = _READY_S, besides: Member | None = None) -> Member:
        """Return the member that is the leader, by its metrics; `besides` does not count."""
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline:
            for member in self.members:
                if member is besides or member.process is None:
                    continue
                if "\netcd_server_is_leader 1" in _metrics(member):
                    return member
            time.sleep(0.1)
        raise RuntimeError("the cluster has no leader")

    def start(self) -> None:
        """Start all members that are not running, and wait until each accepts connections."""
        for member in self.members:
            if member.process is None:
                self.start_member(member)
        for member in self.members:
            self._wait_until_listening(member)

    def start_member(self, member: Member) -> None:
        member.start(",".join(f"{one.name}={one.peer}" for one in self.members))

    def _wait_until_listening(self, member: Member) -> None:
        deadline = time.monotonic() + _READY_S
        while time.monotonic() < deadline:
            assert member.process is not None
            if member.process.poll() is not None:
                break
            with socket.socket() as probe:
                probe.settimeout(1)
                if probe.connect_ex((member.host, member.client_port)) == 0:
                    return
            time.sleep(0.05)
        log = (member.folder / f"{member.name}.log").read_text()[-2000:]
        raise RuntimeError(f"etcd did not start on {member.address}:\n{log}")


def enable_authentication(
    cluster: EtcdCluster, prefix: str, password: str = "right", tls: SSLContext | None = None
) -> None:
    """Require users, and let user `dray` with this password use a prefix."""
    ask = partial(_ask, cluster, tls)
    end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
    granted = {"permType": "READWRITE", "key": _base64(prefix), "range_end": _base64(end)}
    ask("user/add", {"name": "root", "password": "root"})
    ask("user/add", {"name": "dray", "password": password})
    ask("role/add", {"name": "root"})
    ask("role/add", {"name": "dray"})
    ask("role/grant", {"name": "dray", "perm": granted})
    ask("user/grant", {"user": "root", "role": "root"})
    ask("user/grant", {"user": "dray", "role": "dray"})
    ask("enable", {})


def _base64(text: str) -> str:
    return b64encode(text.encode()).decode()


def _ask(cluster: EtcdCluster, tls: SSLContext | None, path: str, body: dict[str, object]) -> None:
    url = f"{cluster.scheme}://{cluster.addresses[0]}/v3/auth/{path}"
    request = urllib.request.Request(url, json.dumps(body).encode(), method="POST")
    with urllib.request.urlopen(request, timeout=10, context=tls) as answer:
        answer.read()


def _metrics(member: Member) -> str:
    try:
        with urllib.request.urlopen(f"http://{member.address}/metrics", timeout=2) as answer:
            text: bytes = answer.read()
    except OSError:
        return ""
    return text.decode()
