"""Check of a running broker or compactor for a restore that supersedes its metadata store.

A backup that is restored elsewhere continues the cluster there. A broker that was not stopped before would
accept records that are lost with its store, and sweep objects that only the other store references; a
compactor would add files to the tables. So a broker looks for later generations in the object store once a
minute, before it sweeps, and a compactor before each pass. They stop if there is one.
"""

from collections.abc import Callable

from dray.cluster import ClusterIdentity, StoreNames
from dray.cluster.identity_plan import superseded
from dray.cluster.restores import successor
from dray.objects.port import ObjectError, ObjectStore
from dray.observe import get_logger
from dray.server.errors import StartupError

_log = get_logger("server")


class Supersession:
    """The check, and its result."""

    def __init__(self, objects: ObjectStore, identity: ClusterIdentity, names: StoreNames) -> None:
        self._objects = objects
        self._generation = identity.generation
        self._names = names
        self._stop: Callable[[], object] = lambda: None
        self.reason: str | None = None
        """Why this process must stop, if it must."""

    def on_found(self, stop: Callable[[], object]) -> None:
        """Call `stop` once a later generation is found, at once if it was found already."""
        self._stop = stop
        if self.reason is not None:
            stop()

    async def check(self) -> None:
        """Look for a later generation; while the object store is unavailable, the next check does."""
        if self.reason is not None:
            return
        try:
            later = await successor(self._objects, self._generation)
        except ObjectError as error:
            _log.warning("generation_unknown", error=str(error))
            return
        if later is not None:
            self.reason = superseded(later, self._names)
            _log.error("metadata_superseded", error=self.reason)
            self._stop()

    async def require_current(self) -> None:
        """Check; raises `StartupError` if a later generation was found."""
        await self.check()
        if self.reason is not None:
            raise StartupError(self.reason)
