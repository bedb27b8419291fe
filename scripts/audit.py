"""Audit of the locked packages: looks each up in a database of vulnerabilities, with pip-audit.

pip-audit has an environment and a lock of its own. Exit codes: 0 no known vulnerability, 1 at least one, 2 if
no database could be asked. pip-audit itself succeeds when a database does not know a single package, as a
mirror of the package index may not; here that is exit code 2.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
_HOME: Final = ROOT / ".cache" / "audit"
_LOCK: Final = ROOT / "requirements" / "audit.txt"
_SERVICES: Final = ("pypi", "osv")
_REQUEST_S: Final = 15
_AUDIT_S: Final = 600
_NOTHING_KNOWN: Final = (
    "audit: no database of vulnerabilities could be reached, or it knows none of the packages: "
    "NOTHING IS KNOWN about vulnerabilities in them"
)


@dataclass(frozen=True, slots=True)
class Audit:
    """What the databases answered."""

    audited: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)
    vulnerable: set[str] = field(default_factory=set)


def audit_of(report: str) -> Audit:
    """Read the JSON that pip-audit printed; there is none if it could not reach the database."""
    found = Audit()
    if not report.strip():
        return found
    packages: list[dict[str, Any]] = json.loads(report)["dependencies"]
    for package in packages:
        if "skip_reason" in package:
            found.unknown.add(package["name"])
            continue
        found.audited.add(package["name"])
        for one in package["vulns"]:
            fixed = ", ".join(one["fix_versions"]) or "no version"
            found.vulnerable.add(f"{package['name']} {package['version']}: {one['id']}, fixed in {fixed}")
    return found


def verdict(found: Audit) -> tuple[int, list[str]]:
    """Return the exit code, and what to print."""
    if not found.audited:
        return 2, [_NOTHING_KNOWN]
    lines = sorted(found.vulnerable)
    if found.unknown:
        lines.append(
            f"audit: {len(found.unknown)} packages were not found: {', '.join(sorted(found.unknown))}"
        )
    lines.append(f"audit: {len(found.audited)} packages, {len(found.vulnerable)} known vulnerabilities")
    return (1 if found.vulnerable else 0), lines


def install() -> Path:
    """Install pip-audit from its lock, and return its program."""
    uv = str(Path(sys.executable).parent / "uv")
    environ = {**os.environ, "UV_SYSTEM_CERTS": "true"}
    python = _HOME / "bin" / "python"
    for command in (
        ["venv", "--quiet", "--allow-existing", "--python", sys.executable, str(_HOME)],
        ["pip", "sync", "--quiet", "--require-hashes", "--python", str(python), str(_LOCK)],
    ):
        subprocess.run([uv, *command], env=environ, check=True)
    return _HOME / "bin" / "pip-audit"


def ask(program: Path, service: str) -> Audit:
    locks = [f"--requirement={path}" for path in sorted((ROOT / "requirements").glob("*.txt"))]
    options = ["--disable-pip", "--require-hashes", "--format=json", "--progress-spinner=off"]
    asked = subprocess.run(
        [str(program), *options, f"--vulnerability-service={service}", f"--timeout={_REQUEST_S}", *locks],
        capture_output=True,
        text=True,
        timeout=_AUDIT_S,
        check=False,
    )
    found = audit_of(asked.stdout)
    print(f"audit: {service}: {len(found.audited)} packages found, {len(found.unknown)} not")
    return found


def main() -> int:
    program = install()
    found = Audit()
    for service in _SERVICES:
        found = ask(program, service)
        if found.audited:
            break
    code, lines = verdict(found)
    print("\n".join(lines))
    return code


if __name__ == "__main__":
    sys.exit(main())
