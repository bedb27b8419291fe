"""Stored values: records of keys, and heads of domains.

A record is a tag byte and a value. A *placeholder* reserves a key that a commit is about to create: it
reads as absent, and its version guards the creation (see `dray.meta.oxia.transaction`).

The head of a domain has the number of committed transactions, the last one of each writer, and, while a
transaction is decided but not applied, its *redo*: the guarded operations that apply it.
"""

from typing import Final, Literal

import msgspec

from dray.meta.port import SessionId, StoreUnusable

Tag = Literal[0, 1, 2]
PLAIN: Final = 0
EPHEMERAL: Final = 1
PLACEHOLDER: Final = 2

WRITERS_MAX: Final = 64
"""Writers whose last transaction a head remembers."""


class Record(msgspec.Struct, frozen=True):
    """The value of a key; `session` owns an ephemeral one, `reserved_by` is set for a placeholder."""

    value: bytes = b""
    session: SessionId | None = None
    reserved_by: bytes | None = None


class TransactionId(msgspec.Struct, frozen=True, array_like=True):
    """One attempt of one writer; a writer resolves its attempts at a domain one after the other."""

    writer: bytes
    sequence: int


class RedoPut(msgspec.Struct, frozen=True, array_like=True):
    """Replace the version `expected` of `key`; with `None`, the transaction's own placeholder."""

    key: str
    value: bytes
    expected: int | None


class RedoDelete(msgspec.Struct, frozen=True, array_like=True):
    """Delete the version `expected` of `key`."""

    key: str
    expected: int


class Redo(msgspec.Struct, frozen=True, array_like=True):
    """The operations of a transaction. Its puts get consecutive versions after that of the head."""

    puts: tuple[RedoPut, ...] = ()
    deletes: tuple[RedoDelete, ...] = ()


class Committed(msgspec.Struct, frozen=True, array_like=True):
    """The last transaction of a writer; `applied` is the head's version that it was applied with.

    A head does not know its own version when it is written: `None` stands for it.
    """

    id: TransactionId
    number: int
    applied: int | None


class Head(msgspec.Struct, frozen=True, array_like=True):
    """The state of a domain; see the module."""

    number: int = 0
    """How many transactions were committed."""
    committed: tuple[Committed, ...] = ()
    """By number; at most one of each writer."""
    evicted: int = 0
    """The highest number that was removed from `committed` although its writer has no later one."""
    redo: Redo | None = None
    """The operations of the last of `committed`, until they are applied."""

    def settled(self, version: int) -> "Head":
        """Return the head without a reference to its own version, to be written as another version."""
        if not self.committed or self.committed[-1].applied is not None or self.redo is not None:
            return self
        last = msgspec.structs.replace(self.committed[-1], applied=version)
        return msgspec.structs.replace(self, committed=(*self.committed[:-1], last))

    def with_pending(self, version: int, id: TransactionId, redo: Redo) -> "Head":  # noqa: A002
        """Return the head that commits a transaction, given this one's version."""
        others = [done for done in self.settled(version).committed if done.id.writer != id.writer]
        surplus = others[: -(WRITERS_MAX - 1)]
        number = self.number + 1
        kept = (*others[len(surplus) :], Committed(id, number, None))
        evicted = max([self.evicted, *(done.number for done in surplus)])
        return Head(number, kept, evicted, redo)

    def applied(self) -> "Head":
        """Return the head that is written with the operations of the redo."""
        return msgspec.structs.replace(self, redo=None)

    def find(self, id: TransactionId) -> Committed | None:  # noqa: A002
        return next((done for done in self.committed if done.id == id), None)


_encode_head = msgspec.msgpack.Encoder().encode
_decode_head = msgspec.msgpack.Decoder(Head).decode
_encode_id = msgspec.msgpack.Encoder().encode
_decode_id = msgspec.msgpack.Decoder(TransactionId).decode


def encode_head(head: Head) -> bytes:
    return _encode_head(head)


def decode_head(data: bytes) -> Head:
    try:
        return _decode_head(data)
    except msgspec.MsgspecError as error:
        raise StoreUnusable(
            f"the head of a domain is not ours ({error}); the namespace must belong to Dray alone"
        ) from error


def encode_record(value: bytes, session: SessionId | None = None) -> bytes:
    if session is None:
        return b"\0" + value
    owner = session.encode()
    return b"\1" + bytes([len(owner)]) + owner + value


def encode_placeholder(id: TransactionId) -> bytes:  # noqa: A002
    return b"\2" + _encode_id(id)


def decode_record(data: bytes) -> Record:
    tag = data[0] if data else None
    if tag == PLAIN:
        return Record(data[1:])
    if tag == EPHEMERAL:
        value_at = 2 + data[1]
        return Record(data[value_at:], session=SessionId(data[2:value_at].decode()))
    if tag == PLACEHOLDER:
        return Record(reserved_by=data[1:])
    raise StoreUnusable(f"a record has the unknown tag {tag}; the namespace must belong to Dray alone")


def reserves(record: Record, id: TransactionId) -> bool:  # noqa: A002
    return record.reserved_by == _encode_id(id)
