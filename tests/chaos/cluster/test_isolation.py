"""Namespaces of an experiment: nothing gets out of them or outlives them, and cuts are one-way."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.chaos.cluster.isolation import isolated
from tests.oracle.environment import ROOT
from tests.spark.processes import all_exited, becomes_true, descendants

pytestmark = pytest.mark.real("namespaces")

_CUTS = """
import socket, subprocess, sys
from tests.chaos.cluster.network import Network

RECEIVE = "import socket; s = socket.socket(type=2); s.bind(('', 99)); s.settimeout(60)\\n"
RECEIVE += "print('bound', flush=True)\\nwhile True: print(s.recv(9).decode(), flush=True)"
SEND = "import socket, sys; socket.socket(type=2).sendto(sys.argv[2].encode(), (sys.argv[1], 99))"

addresses = {"a": "10.77.0.1", "b": "10.77.0.2"}
network = Network(addresses)
network.create()
receivers = {}
for node in addresses:
    command = network.command(node, [sys.executable, "-c", RECEIVE])
    receivers[node] = subprocess.Popen(command, stdout=subprocess.PIPE, text=True).stdout
    receivers[node].readline()

def send(source, target, text):
    subprocess.run(network.command(source, [sys.executable, "-c", SEND, addresses[target], text]), check=True)

send("a", "b", "before")
network.cut([("a", "b")])
network.cut([("a", "b")])
send("a", "b", "lost")
send("b", "a", "other")
network.restore([("a", "b")])
send("a", "b", "still")
network.restore([("a", "b")])
send("a", "b", "after")
print([receivers["b"].readline().strip() for _ in range(2)], receivers["a"].readline().strip())
"""


def test_cut_loses_what_one_side_sends_until_it_is_restored() -> None:
    command = isolated([sys.executable, "-c", _CUTS])
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)
    assert ran.stdout == "['before', 'after'] other\n", ran.stderr


def test_processes_end_with_the_one_that_started_them_even_if_it_is_killed(tmp_path: Path) -> None:
    started = tmp_path / "started"
    inner = f"sleep 600 & setsid sleep 600 & ip link add br0 type bridge && touch {started}; wait"
    program = f"import subprocess; subprocess.run({isolated(['sh', '-c', inner])!r})"
    with subprocess.Popen([sys.executable, "-c", program]) as parent:
        assert becomes_true(started.exists, 60)
        children = descendants(parent.pid) - {parent.pid}
        assert len(children) >= 4
        os.kill(parent.pid, signal.SIGKILL)
    assert all_exited(children)


def test_network_of_the_machine_is_untouched() -> None:
    """Neither its interfaces nor the names of its namespaces."""

    def shown() -> str:
        commands = (["ip", "-brief", "link"], ["ip", "netns"])
        return "".join(
            subprocess.run(one, capture_output=True, text=True, check=True).stdout for one in commands
        )

    before = shown()
    program = "from tests.chaos.cluster.network import Network; Network({'a': '10.77.0.1'}).create()"
    subprocess.run(isolated([sys.executable, "-c", program]), cwd=ROOT, check=True, timeout=240)
    assert shown() == before
