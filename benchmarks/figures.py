"""Figures that benchmarks return, and the machine and versions they were measured with."""

import platform
from dataclasses import dataclass
from importlib.metadata import version
from os import cpu_count
from pathlib import Path

_PACKAGES = ("apsw", "crc32c", "cramjam", "msgspec", "numba", "obstore", "pyarrow")


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number; `bar` is its target: a minimum, or with `at_most` a maximum."""

    name: str
    value: float
    unit: str
    bar: float | None = None
    at_most: bool = False

    @property
    def reached(self) -> bool | None:
        if self.bar is None:
            return None
        return self.value <= self.bar if self.at_most else self.value >= self.bar

    def line(self) -> str:
        text = f"{self.name:58} {self.value:12,.2f} {self.unit}"
        if self.bar is None:
            return text
        kind = "at most" if self.at_most else "bar"
        return f"{text:86} {kind} {self.bar:,g}: {'reached' if self.reached else 'MISSED'}"


def environment() -> list[str]:
    """Return lines that name the machine, the interpreter and the packages."""
    packages = ", ".join(f"{name} {version(name)}" for name in _PACKAGES)
    return [
        f"{platform.system()} {platform.release()} {platform.machine()}, {cpu_count()} cores, {_processor()}",
        f"Python {platform.python_version()}, dray {version('dray')}, {packages}",
    ]


def _processor() -> str:
    try:
        with Path("/proc/cpuinfo").open() as lines:
            return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "processor unknown"
