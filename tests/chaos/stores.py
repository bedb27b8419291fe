"""Object stores of an experiment, as options of `dray up`."""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from dray.testing import seaweedfs

Store = Callable[[Path], AbstractContextManager[list[str]]]


@contextmanager
def local_directory(_: Path) -> Iterator[list[str]]:
    """Objects are files next to the metadata, the default of `dray up`."""
    yield []


@contextmanager
def real_s3(directory: Path) -> Iterator[list[str]]:
    """Objects are in a bucket of a SeaweedFS that runs for the length of the experiment."""
    home = directory / "seaweedfs"
    home.mkdir(parents=True)
    with seaweedfs.serve(home) as server:
        server.make_bucket("dray")
        settings = server.settings("writer")
        storage = {
            "url": "s3://dray/chaos",
            "endpoint": settings.endpoint,
            "allow_http": True,
            "region": settings.region,
            "access_key_id": settings.access_key,
            "secret_access_key": settings.secret_key,
        }
        config = directory / "s3.yaml"
        config.write_text(json.dumps({"storage": storage}))  # JSON is YAML; a secret cannot be a flag
        yield ["--config", str(config)]
