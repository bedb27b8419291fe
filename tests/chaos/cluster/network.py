"""Network of a cluster: a namespace for each node, all connected to one bridge.

A cut is one-way: what `source` sends to `target` is lost, without an error on either side. For that, the
source gets a permanent neighbor entry with a hardware address that no node has. This needs neither a packet
filter nor a kernel module.

The process itself, on the bridge, reaches every node whatever is cut.
"""

import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

_BRIDGE: Final = "br0"
_BRIDGE_ADDRESS: Final = "10.77.0.254/24"
_NO_NODE: Final = "02:00:00:00:00:ff"

Cut = tuple[str, str]
"""Source and target."""


class Network:
    """The network of an isolated process, which disappears with it."""

    def __init__(self, addresses: Mapping[str, str]) -> None:
        self._addresses = addresses
        self._cuts: Counter[Cut] = Counter()

    def create(self) -> None:
        _run("mount", "-t", "tmpfs", "none", "/run")  # hides the namespaces of the machine
        Path("/run/netns").mkdir()
        _ip("link", "set", "lo", "up")
        _ip("link", "add", _BRIDGE, "type", "bridge")
        _ip("address", "add", _BRIDGE_ADDRESS, "dev", _BRIDGE)
        _ip("link", "set", _BRIDGE, "up")
        for name, address in self._addresses.items():
            _add(name, address)

    def command(self, node: str, command: Sequence[str]) -> list[str]:
        """Return the command that runs another one, in the same process, on a node."""
        return ["ip", "netns", "exec", node, *command]

    def cut(self, cuts: Iterable[Cut]) -> None:
        """Lose what the sources send to the targets until it is restored as often as it was cut."""
        for source, target in cuts:
            self._cuts[source, target] += 1
            address = self._addresses[target]
            _ip(
                *("-netns", source, "neighbor", "replace", address, "lladdr", _NO_NODE),
                *("nud", "permanent", "dev", "eth0"),
            )

    def restore(self, cuts: Iterable[Cut]) -> None:
        for source, target in cuts:
            self._cuts[source, target] -= 1
            if not self._cuts[source, target]:
                _ip("-netns", source, "neighbor", "delete", self._addresses[target], "dev", "eth0")


def _add(name: str, address: str) -> None:
    _ip("netns", "add", name)
    _ip("link", "add", "name", name, "type", "veth", "peer", "name", "eth0", "netns", name)
    _ip("link", "set", "dev", name, "master", _BRIDGE, "up")
    _ip("-netns", name, "link", "set", "lo", "up")
    _ip("-netns", name, "address", "add", f"{address}/24", "dev", "eth0")
    _ip("-netns", name, "link", "set", "eth0", "up")


def _ip(*arguments: str) -> None:
    _run("ip", *arguments)


def _run(*command: str) -> None:
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if ran.returncode:
        raise OSError(f"`{' '.join(command)}` failed with {ran.returncode}: {ran.stderr.strip()}")
