"""Upload of sealed objects: reserve, encode, put. Afterwards the object is durable, but not visible."""

from asyncio import Semaphore

from dray.formats import wal_v1
from dray.ids import MetaDomain
from dray.log.deps import LogDeps
from dray.log.errors import LogError, NotStored
from dray.log.reservations import Reservations
from dray.log.stages import Sealed, Stored
from dray.meta.port import MetaError
from dray.objects.port import ObjectError


class Uploader:
    """Uploads the objects of one domain, `puts_in_flight_max` at a time."""

    def __init__(self, domain: MetaDomain, deps: LogDeps) -> None:
        self._domain = domain
        self._deps = deps
        self.reservations = Reservations(domain, deps)
        self._slots = Semaphore(deps.settings.puts_in_flight_max)

    @property
    def saturated(self) -> bool:
        """Whether one more object would have to wait."""
        return self._slots.locked()

    async def upload(self, sealed: Sealed) -> Stored | LogError:
        """Make an object durable, or return why it is not: the error is for the producers of its batches."""
        try:
            async with self._slots:
                return await self._put(sealed)
        except LogError as error:
            return error
        except (MetaError, ObjectError) as error:
            failed = NotStored(f"the batch was not stored, send it again: {error}")
            failed.__cause__ = error
            return failed

    async def _put(self, sealed: Sealed) -> Stored:
        clock, metrics = self._deps.clock, self._deps.metrics
        reservation = await self.reservations.take()
        drafts = [chunk.draft() for chunk in sealed.chunks]
        encoded = wal_v1.encode(reservation.wal_id, self._domain, clock.now_ms(), drafts)
        started = clock.monotonic()
        await self._deps.objects.put_new(reservation.path, encoded.parts)
        metrics.flush_seconds.observe(clock.monotonic() - started)
        metrics.flush_bytes.observe(encoded.size_bytes)
        return Stored(sealed, reservation, encoded.size_bytes, encoded.chunks)

    async def close(self) -> None:
        """Release the reservations that no object used."""
        await self.reservations.release()
