"""Where everything about the log lives in the metadata store.

Keys sort as the store sorts them (by byte, among keys of one depth), so numbers are written with a
fixed width: offsets and sizes as twenty decimal digits, stream and WAL ids as hexadecimal.

    /dray/v1/streams/<stream>/head                          the stream head
    /dray/v1/streams/<stream>/offset-index/<end>/<size>     one index entry
    /dray/v1/streams/<stream>/producers                     snapshot of producer state
    /dray/v1/streams/<stream>/cleaned                       put when records were left out of the index
    /dray/v1/wal/staging/<domain>/<wal>                     a WAL object that may be written, not committed
    /dray/v1/wal/objects/<domain>/<wal>                     a committed WAL object and its references
    /dray/v1/wal/gc/<domain>/<wal>                          a WAL object to be deleted after a time
    /dray/v1/wal/loads/<domain>/<load>                      a bulk load, which stands for all its WAL objects
    /dray/v1/parquet/files/<domain>/<file>                  a Parquet file that the index names
    /dray/v1/parquet/gc/<domain>/<file>                     a Parquet file that the index has given up
    /dray/v1/parquet/missing/<domain>/...                   a note that a file is not where the index says
    /dray/v1/parquet/asked/<domain>                         when tables were asked which files they name
    /dray/v1/compaction/jobs/<stream>                       how far the compaction of a stream is
    /dray/v1/compaction/leases/<topic>                      who compacts a topic
    /dray/v1/compaction/rebuilds/<topic>                    a table that is made again
    /dray/v1/compaction/dropped-tables/<topic>-<folder>     a table that was dropped, and where it was
    /dray/v1/compaction/differs/<topic>                     where a table lacks what the index has
    /dray/v1/compaction/failed/<topic>                      why a topic is not compacted
"""

from dray.ids import MetaDomain, StreamId, WalId

ROOT = "/dray/v1"
STREAMS_PREFIX = f"{ROOT}/streams/"
_HEAD = "/head"
_CLEANED = "/cleaned"


def domain_name(domain: MetaDomain) -> str:
    """Name the store's domain that holds the keys of streams and WAL objects of `domain`."""
    return f"log-{domain}"


def head_key(stream: StreamId) -> str:
    return f"{STREAMS_PREFIX}{stream:016x}{_HEAD}"


def stream_of_head_key(key: str) -> StreamId | None:
    """Return the stream whose head `key` is, or None when it is another kind of key."""
    return _stream_of(key, _HEAD)


def cleaned_key(stream: StreamId) -> str:
    """Return the key that is put when a swap leaves records out, so that brokers forget what they know."""
    return f"{STREAMS_PREFIX}{stream:016x}{_CLEANED}"


def stream_of_cleaned_key(key: str) -> StreamId | None:
    return _stream_of(key, _CLEANED)


def _stream_of(key: str, suffix: str) -> StreamId | None:
    if not (key.startswith(STREAMS_PREFIX) and key.endswith(suffix)):
        return None
    try:
        return StreamId(int(key[len(STREAMS_PREFIX) : -len(suffix)], 16))
    except ValueError:
        return None


def heads_range(after: StreamId | None = None) -> tuple[str, str]:
    """Return the scan that covers all heads of a domain (and other keys of the same depth) behind `after`."""
    start = f"{STREAMS_PREFIX}/" if after is None else f"{head_key(after)}\0"
    return start, f"{STREAMS_PREFIX}g/"


def producers_key(stream: StreamId) -> str:
    return f"{STREAMS_PREFIX}{stream:016x}/producers"


def entry_key(stream: StreamId, end_offset: int, cumulative_size: int) -> str:
    return f"{STREAMS_PREFIX}{stream:016x}/offset-index/{end_offset:020d}/{cumulative_size:020d}"


def entries_after(stream: StreamId, offset: int) -> tuple[str, str]:
    """Return the scan that covers, in order, every entry whose end is greater than `offset`."""
    directory = f"{STREAMS_PREFIX}{stream:016x}/offset-index/"
    return f"{directory}{offset + 1:020d}/", f"{directory}:/"


def entries_until(stream: StreamId, offset: int) -> tuple[str, str]:
    """Return the scan that covers, in order, every entry whose end is not greater than `offset`."""
    directory = f"{STREAMS_PREFIX}{stream:016x}/offset-index/"
    return f"{directory}/", f"{directory}{offset + 1:020d}/"


def staging_key(domain: MetaDomain, wal: WalId) -> str:
    return f"{ROOT}/wal/staging/{domain}/{wal.hex()}"


def object_key(domain: MetaDomain, wal: WalId) -> str:
    return f"{ROOT}/wal/objects/{domain}/{wal.hex()}"


def gc_key(domain: MetaDomain, wal: WalId) -> str:
    return f"{ROOT}/wal/gc/{domain}/{wal.hex()}"


def staging_range(domain: MetaDomain) -> tuple[str, str]:
    return children(f"{ROOT}/wal/staging/{domain}/")


def object_range(domain: MetaDomain) -> tuple[str, str]:
    return children(f"{ROOT}/wal/objects/{domain}/")


def gc_range(domain: MetaDomain) -> tuple[str, str]:
    return children(f"{ROOT}/wal/gc/{domain}/")


def wal_of_key(key: str) -> WalId:
    """Return the WAL id at the end of a staging, object or gc key."""
    return WalId(bytes.fromhex(key.rpartition("/")[2]))


def children(directory: str) -> tuple[str, str]:
    """Return the scan that covers the keys right under a directory, which ends with a slash."""
    return directory, directory + "~"
