"""One shard: its keys, versions, sessions and notifications, as a state machine over its log.

Live requests and the replay after a restart go through `execute`. One entry of the log is atomic. The
operations of a write are executed in order (puts, deletions, range deletions), each under its own condition
only: a failed one has a status, and the others are executed. Every successful put takes the next version of
the shard, also the one by which Oxia stores a new session.
"""

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from dray.meta.oxia import api_pb2 as api
from dray.testing.oxia_server.order import Sorting, encoder

_NO_VERSION = -1


class PoisonedError(Exception):
    """The entry is in the log and cannot be executed, now or at any replay."""


class LogEntry(msgspec.Struct, frozen=True, array_like=True):
    """One entry: a write, new or ended sessions, or, with nothing, one without notifications."""

    shard: int
    at_ms: int
    write: bytes | None = None
    session_ttl_ms: int | None = None
    ended_sessions: tuple[int, ...] = ()


@dataclass(slots=True)
class _Stored:
    value: bytes
    version: api.Version


class Shard:
    """The state after the entries executed so far."""

    def __init__(self, number: int, sorting: Sorting = "hierarchical") -> None:
        self.number = number
        self.offset = -1
        self.sessions: dict[int, int] = {}
        """Time to live in milliseconds, by session."""
        self._encode = encoder(sorting)
        self._version = -1
        self._stored: dict[str, _Stored] = {}
        self._order: list[tuple[bytes, str]] = []
        self._notifications: deque[api.NotificationBatch] = deque()

    def execute(self, entry: LogEntry) -> api.WriteResponse | None:
        self.offset += 1
        if entry.session_ttl_ms is not None:
            self._version += 1
            self.sessions[self.offset] = entry.session_ttl_ms
            self._notifications.append(self._batch(entry))
        elif entry.write is not None:
            return self._write(api.WriteRequest.FromString(entry.write), entry)
        elif entry.ended_sessions:
            self._end_sessions(entry)
        return None

    def get(self, key: str, *, value: bool = True) -> api.GetResponse:
        stored = self._stored.get(key)
        if stored is None:
            return api.GetResponse(status=api.KEY_NOT_FOUND)
        return api.GetResponse(version=stored.version, value=stored.value if value else None)

    def keys(self, start: str, end: str) -> list[str]:
        low = bisect_left(self._order, (self._encode(start), ""))
        high = bisect_left(self._order, (self._encode(end), ""))
        return [key for _, key in self._order[low:high]]

    def records(self, start: str, end: str) -> list[api.GetResponse]:
        found = []
        for key in self.keys(start, end):
            record = self.get(key)
            record.key = key
            found.append(record)
        return found

    def notifications(self, after: int) -> list[api.NotificationBatch]:
        """Return the batches after an offset; trimmed ones are silently missing."""
        return [batch for batch in self._notifications if batch.offset > after]

    def trim_notifications(self) -> None:
        self._notifications.clear()

    def _write(self, request: api.WriteRequest, entry: LogEntry) -> api.WriteResponse:
        if any(put.sequence_key_delta for put in request.puts):
            raise PoisonedError
        batch = self._batch(entry)
        response = api.WriteResponse(
            puts=[self._put(put, batch) for put in request.puts],
            deletes=[api.DeleteResponse(status=self._delete(delete, batch)) for delete in request.deletes],
        )
        for deleted in request.delete_ranges:
            self._delete_range(deleted, batch)
            response.delete_ranges.add(status=api.OK)
        self._notifications.append(batch)
        return response

    def _put(self, put: api.PutRequest, batch: api.NotificationBatch) -> api.PutResponse:
        present = self._stored.get(put.key)
        if put.HasField("expected_version_id") and put.expected_version_id != self._version_of(put.key):
            return api.PutResponse(status=api.UNEXPECTED_VERSION_ID)
        if put.HasField("session_id") and put.session_id not in self.sessions:
            return api.PutResponse(status=api.SESSION_DOES_NOT_EXIST)
        self._version += 1
        now = batch.timestamp
        version = api.Version(version_id=self._version, created_timestamp=now, modified_timestamp=now)
        if put.HasField("session_id"):
            version.session_id = put.session_id
        if present is not None:
            version.modifications_count = present.version.modifications_count + 1
            version.created_timestamp = present.version.created_timestamp
        else:
            insort(self._order, (self._encode(put.key), put.key))
        self._stored[put.key] = _Stored(put.value, version)
        kind = api.KEY_MODIFIED if version.modifications_count else api.KEY_CREATED
        _notify(batch, put.key, api.Notification(type=kind, version_id=self._version))
        return api.PutResponse(version=version)

    def _delete(self, delete: api.DeleteRequest, batch: api.NotificationBatch) -> api.Status:
        if delete.HasField("expected_version_id") and delete.expected_version_id != self._version_of(
            delete.key
        ):
            return api.UNEXPECTED_VERSION_ID
        if delete.key not in self._stored:
            return api.KEY_NOT_FOUND
        self._remove(delete.key)
        _notify(batch, delete.key, api.Notification(type=api.KEY_DELETED))
        return api.OK

    def _delete_range(self, deleted: api.DeleteRangeRequest, batch: api.NotificationBatch) -> None:
        for key in self.keys(deleted.start_inclusive, deleted.end_exclusive):
            self._remove(key)
        last = api.Notification(type=api.KEY_RANGE_DELETED, key_range_last=deleted.end_exclusive)
        _notify(batch, deleted.start_inclusive, last)

    def _end_sessions(self, entry: LogEntry) -> None:
        batch = self._batch(entry)
        for session in entry.ended_sessions:
            self.sessions.pop(session, None)
            for key in list(self._owned_by(session)):
                self._remove(key)
                _notify(batch, key, api.Notification(type=api.KEY_DELETED))
        self._notifications.append(batch)

    def _owned_by(self, session: int) -> Iterator[str]:
        for key, stored in self._stored.items():
            if stored.version.HasField("session_id") and stored.version.session_id == session:
                yield key

    def _remove(self, key: str) -> None:
        del self._stored[key]
        del self._order[bisect_left(self._order, (self._encode(key), key))]

    def _version_of(self, key: str) -> int:
        stored = self._stored.get(key)
        return _NO_VERSION if stored is None else stored.version.version_id

    def _batch(self, entry: LogEntry) -> api.NotificationBatch:
        return api.NotificationBatch(shard=self.number, offset=self.offset, timestamp=entry.at_ms)


def _notify(batch: api.NotificationBatch, key: str, change: api.Notification) -> None:
    """Add a change; of several changes of a key, a batch has only the last one."""
    for present in list(batch.notifications):
        if present.key == key:
            batch.notifications.remove(present)
    batch.notifications.add(key=key, value=change)
