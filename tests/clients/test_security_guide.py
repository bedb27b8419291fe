"""The worked example of the security guide, run as it is written, on other ports."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from dray.testing.ports import free_port

GUIDE: Final = Path(__file__).parents[2] / "docs" / "guide" / "security.md"
DRAY: Final = f"{sys.executable} -m dray"
WAIT: Final = """
for _ in $(seq 100); do (exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null && break; sleep 0.1; done
"""


def commands() -> list[str]:
    section = GUIDE.read_text().partition("## From nothing to")[2]
    found = re.search(r"```sh\n(.*?)```", section, re.DOTALL)
    assert found is not None
    return found[1].splitlines()


def run(lines: list[str], directory: Path) -> str:
    """Run lines of shell that fail at the first error; returns what they print."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("DRAY_")}
    script = "\n".join(("set -euo pipefail", f'dray() {{ {DRAY} "$@"; }}', *lines))
    ran = subprocess.run(
        ["bash", "-c", script],
        cwd=directory,
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.mark.slow
@pytest.mark.real("openssl")
def test_ten_commands_of_the_guide_secure_a_broker(tmp_path: Path) -> None:
    port, http = free_port(), free_port()
    lines = [line.replace("9093", str(port)) for line in commands()]
    assert len(lines) == 10
    started = next(number for number, line in enumerate(lines) if line.endswith("&"))
    run(lines[:started], tmp_path)
    up = [*DRAY.split(), *lines[started].removesuffix("&").split()[1:], f"--http=127.0.0.1:{http}"]
    with subprocess.Popen(up, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as broker:
        try:
            printed = run([WAIT.format(port=port), *lines[started + 1 :]], tmp_path)
            assert printed.splitlines()[-1].endswith("hello")
            properties = (tmp_path / "alice.properties").read_text()
            (tmp_path / "no-certificate.properties").write_text(
                "\n".join(line for line in properties.splitlines() if "keystore" not in line)
            )
            (tmp_path / "wrong-password.properties").write_text(properties.replace("a password", "another"))
            for name in ("no-certificate", "wrong-password"):
                refused = lines[-1].replace("alice.properties", f"{name}.properties --timeout 5")
                run([f"! {refused}"], tmp_path)
            run([f"! {lines[-2].replace('orders', 'invoices')}"], tmp_path)
        finally:
            broker.send_signal(signal.SIGTERM)
            broker.wait(30)
