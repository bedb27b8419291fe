"""Produce and fetch over TLS: both servers with one certificate, one version of TLS and one cipher suite.

Before the loads each server is asked what it negotiates, and the run ends with an error if that is another
suite: most of the cost of TLS is that of its suite.
"""

import socket
import ssl
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.beside_kafka import loads, report
from benchmarks.beside_kafka.benchmark import Outcome, servers_here
from benchmarks.beside_kafka.loads import TLS_LOADS
from benchmarks.beside_kafka.processes import BackgroundLoad, file_system
from benchmarks.beside_kafka.rounds import Progress, Rounds
from benchmarks.beside_kafka.scale import Scale
from benchmarks.beside_kafka.servers import DRAY, Prepared, Server, prepare_dray, prepare_kafka, serving
from tests.net.authority import Authority, Issued

_PROTOCOL: Final = "TLSv1.3"
_SUITE: Final = "TLS_AES_256_GCM_SHA384"
"""What librdkafka prefers, and both servers offer."""
_TIMEOUT_S: Final = 2.0


class SuitesDiffer(RuntimeError):
    """The servers negotiated something else than the suite that is compared."""


def run(scale: Scale, *, directory: Path | None = None, progress: Progress = print) -> Outcome:
    """Measure both servers, or Dray alone where there is no Java, with their data under `directory`."""
    with tempfile.TemporaryDirectory(dir=directory, prefix="dray-over-tls-") as name:
        return TlsRun(scale, Path(name), servers_here(), progress).outcome()


class TlsRun(Rounds[Scale]):
    """One run."""

    def outcome(self) -> Outcome:
        background_load = BackgroundLoad()
        authority = Authority(self._directory)
        issued = authority.issue("server")
        context = ssl.create_default_context(cafile=str(authority.file))
        with ExitStack() as stack:
            servers = [
                stack.enter_context(
                    serving(
                        _prepared(name, self._directory, authority.file, issued),
                        partial(_speaks_tls, context),
                    )
                )
                for name in self._names
            ]
            for server in servers:
                _check_suite(server, context)
            for number in self._rounds():
                self._round(number, servers)
        environment = report.Environment(file_system(self._directory), background_load.cores(), [])
        lines = report.lines(self._readings, self._scale, environment, self._preface(environment))
        return Outcome(lines, {}, len(self._readings.missed()))

    def _preface(self, environment: report.Environment) -> list[str]:
        scale = self._scale
        return [
            report.title(),
            f"rounds: {scale.rounds}, alternating load by load, after {scale.warm_ups} uncounted warm-up",
            "medians (lowest to highest); the ratio is the median of the rounds' own ratios",
            f"both: {_PROTOCOL}, {_SUITE}, a certificate with a key on P-256",
            f"both: one node, default settings, acks=all, data on the same disk ({environment.file_system})",
            f"each load: {scale.large_records:,} records of 1 KiB, in a new topic",
        ]

    def _round(self, number: int, servers: Sequence[Server]) -> None:
        for load in TLS_LOADS:
            self._say(number, load.name)
            for server in self._alternating(servers, number):
                rate = loads.run(load, server, f"tls{number}", self._scale)
                self._keep(number, server.name, loads.measures(load, rate, self._scale))


def _prepared(name: str, directory: Path, authority: Path, issued: Issued) -> Prepared:
    home = directory / name
    if name == DRAY:
        files = {"certificate_file": issued.certificate, "key_file": issued.key, "protocols": _PROTOCOL}
        options = [part for key, value in files.items() for part in ("--set", f"tls.{key}={value}")]
        prepared = prepare_dray(home, "SSL", options)
    else:
        prepared = prepare_kafka(home, _kafka_settings(directory, authority, issued))
    prepared.security.update({"security.protocol": "SSL", "ssl.ca.location": str(authority)})
    return prepared


def _kafka_settings(directory: Path, authority: Path, issued: Issued) -> dict[str, str]:
    """Return settings that encrypt the listener; its name stays."""
    both = directory / "kafka.pem"
    both.write_bytes(issued.key.read_bytes() + issued.certificate.read_bytes())
    return {
        "listener.security.protocol.map": "PLAINTEXT:SSL,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(both),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(authority),
        "ssl.enabled.protocols": _PROTOCOL,
        "ssl.cipher.suites": _SUITE,
    }


def _speaks_tls(context: ssl.SSLContext, address: tuple[str, int]) -> bool:
    try:
        return _negotiated(context, address) is not None
    except OSError:
        return False


def _check_suite(server: Server, context: ssl.SSLContext) -> None:
    found = _negotiated(context, server.address)
    if found != (_SUITE, _PROTOCOL):
        raise SuitesDiffer(f"{server.name} negotiated {found}; expected {_PROTOCOL} with {_SUITE}")


def _negotiated(context: ssl.SSLContext, address: tuple[str, int]) -> tuple[str, str] | None:
    """Return the cipher suite and the version of TLS."""
    with (
        socket.create_connection(address, _TIMEOUT_S) as connected,
        context.wrap_socket(connected, server_hostname=address[0]) as encrypted,
    ):
        found = encrypted.cipher()
        return None if found is None else (found[0], found[1])
