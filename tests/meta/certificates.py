"""Certificates for tests, made by the openssl program."""

import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Certificate:
    """PEM files of a certificate and its key."""

    certificate: Path
    key: Path


class Authority:
    """A certificate authority in a folder."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.certificate = folder / f"{name}.pem"
        self._key = folder / f"{name}.key"
        self._run("req", "-x509", *_new_key(self._key), "-out", self.certificate, "-subj", f"/CN={name}")

    def issue(self, name: str, host: str = "IP:127.0.0.1", *, expired: bool = False) -> Certificate:
        made = Certificate(self._folder / f"{name}.pem", self._folder / f"{name}.key")
        request = self._folder / f"{name}.csr"
        extensions = self._folder / f"{name}.ext"
        extensions.write_text(f"subjectAltName={host}\nextendedKeyUsage=serverAuth,clientAuth\n")
        self._run("req", *_new_key(made.key), "-out", request, "-subj", f"/CN={name}")
        signing: list[str | Path] = [
            "x509",
            "-req",
            "-in",
            request,
            "-CA",
            self.certificate,
            "-CAkey",
            self._key,
        ]
        days = "-1" if expired else "2"
        self._run(
            *signing, "-out", made.certificate, "-days", days, "-extfile", extensions, "-CAcreateserial"
        )
        return made

    def _run(self, *arguments: str | Path) -> None:
        subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


def _new_key(path: Path) -> list[str | Path]:
    return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", path]
