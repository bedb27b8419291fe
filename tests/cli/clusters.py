"""Broker whose stores are files that can be inspected while it runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dray.testing import broker
from dray.testing.broker import EmbeddedBroker


@dataclass(frozen=True, slots=True)
class FileCluster:
    """A running broker and its directory."""

    kafka: EmbeddedBroker
    data_dir: Path

    @property
    def objects(self) -> list[Path]:
        return sorted(self.data_dir.rglob("*.wo"))

    @property
    def metadata_flags(self) -> list[str]:
        return [f"--metadata=sqlite:{self.data_dir}/metadata.sqlite"]

    @property
    def storage_flags(self) -> list[str]:
        return [f"--storage=file:{self.data_dir}/objects"]

    @property
    def flags(self) -> list[str]:
        """The flags of both stores."""
        return [*self.metadata_flags, *self.storage_flags]


@contextmanager
def file_cluster(data_dir: Path) -> Iterator[FileCluster]:
    settings = {
        "metadata.url": f"sqlite:{data_dir}/metadata.sqlite",
        "storage.url": f"file:{data_dir}/objects",
        "cluster.domains": "3",
    }
    with broker(settings) as kafka:
        yield FileCluster(kafka, data_dir)
