"""From settings to what code in Spark's processes needs to reach the cluster; all of it travels by pickle.

Spark's own processes know nothing of this one, so they get the settings and open the stores for themselves.
Secrets go with them, the way Spark sends functions: to where Spark runs, and no further.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from msgspec import structs

from dray.cli.bucket import open_there
from dray.cli.failure import Failure
from dray.cli.inspection import check_there
from dray.cli.settings import DraySettings
from dray.cli.wiring import SQLITE, open_stores, surroundings
from dray.cluster import IdentityError, StoreNames, find
from dray.objects.url import parse_storage_url
from dray.pipeline.access import ClusterAccess, OpenCluster
from dray.pipeline.blocking import StorageAccess


def storage_access(settings: DraySettings) -> StorageAccess:
    """Return what opens the object store."""
    return partial(open_there, _anywhere(settings).storage)


def cluster_access(settings: DraySettings) -> ClusterAccess:
    """Return what opens both stores of a cluster that is there already; else it raises `Failure`."""
    return partial(_open_cluster, _anywhere(settings))


def _anywhere(settings: DraySettings) -> DraySettings:
    """Name the stores so that a process with another working directory finds them."""
    metadata, storage = settings.metadata, settings.storage
    url = parse_storage_url(storage.url)
    if metadata.url.startswith(SQLITE):
        path = Path(metadata.url.removeprefix(SQLITE)).absolute()
        metadata = structs.replace(metadata, url=f"{SQLITE}{path}")
    if url.scheme == "file":
        storage = structs.replace(storage, url=f"file:{Path(url.path).absolute()}")
    return structs.replace(settings, metadata=metadata, storage=storage)


@asynccontextmanager
async def _open_cluster(settings: DraySettings) -> AsyncIterator[OpenCluster]:
    check_there(settings)
    around = surroundings()
    async with open_stores(settings, around) as stores:
        names = StoreNames(settings.metadata.url, settings.storage.url)
        try:
            identity = await find(stores.meta, stores.objects, names)
        except IdentityError as error:
            raise Failure(str(error)) from error
        if identity is None:
            raise Failure(
                f"there is no cluster in {names.metadata} and {names.objects}: start a broker first"
            )
        yield OpenCluster(
            stores.meta,
            stores.objects,
            identity.cluster_id,
            identity.domains,
            around.clock,
            around.entropy,
            around.tasks,
        )
