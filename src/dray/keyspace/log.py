"""Keys of the log: streams, WAL objects and Parquet files, in the store domain of their meta domain."""

from typing import Final

from dray.ids import Domain, FileId, LoadId, MetaDomain, StreamId, WalId
from dray.keyspace.families import ROOT, KeyFamily, Scope, children

STREAMS_PREFIX: Final = f"{ROOT}/streams/"
_LOG_DOMAIN: Final = "log-"
_HEAD: Final = "/head"
_KEY_COMPACTED: Final = "/key-compacted"
_CONTENDED: Final = "/contended"
_PRODUCERS: Final = "/producers"
_OFFSET_INDEX: Final = "/offset-index/"
_AFTER_STREAM: Final = len(STREAMS_PREFIX) + 16
_JOBS: Final = f"{ROOT}/compaction/jobs/"

FAMILIES: Final = (
    KeyFamily(
        "streams/<stream>/head",
        Scope.LOG,
        ("StreamHead",),
        writer="log, on every commit, swap and trim",
        meaning="The stream head. Every change of a stream checks its version, so changes form one order.",
    ),
    KeyFamily(
        "streams/<stream>/offset-index/<end>/<size>",
        Scope.LOG,
        ("WalEntry", "ParquetEntry"),
        writer="log, on commit and swap",
        meaning="One index entry, by its end offset and the stream's cumulative size at that offset.",
    ),
    KeyFamily(
        "streams/<stream>/producers",
        Scope.LOG,
        ("ProducerSnapshot",),
        writer="log, every few commits and before a swap",
        meaning="Snapshot of the stream's producer state.",
    ),
    KeyFamily(
        "streams/<stream>/key-compacted",
        Scope.LOG,
        (),
        writer="log, on such a swap",
        meaning="Changes when a swap removes records or corrects running maxima of later entries, so that "
        "brokers drop cached index entries.",
        raw="empty",
    ),
    KeyFamily(
        "streams/<stream>/contended",
        Scope.LOG,
        (),
        writer="log, after several conflicts in a row",
        meaning="Changes when a broker has lost several races for the head: others then wait for it.",
        raw="empty",
    ),
    KeyFamily(
        "wal/staging/<domain>/<wal>",
        Scope.LOG,
        ("StagingMarker",),
        writer="log, before the object is put; sweep condemns orphans",
        meaning="A WAL object that may be in flight and is not committed.",
    ),
    KeyFamily(
        "wal/objects/<domain>/<wal>",
        Scope.LOG,
        ("WalObject",),
        writer="log, on commit; updated as entries are removed",
        meaning="A committed WAL object and its reference count.",
    ),
    KeyFamily(
        "wal/gc/<domain>/<wal>",
        Scope.LOG,
        ("GcMarker",),
        writer="log, when the last reference is released",
        meaning="A WAL object that is deleted after a grace period.",
    ),
    KeyFamily(
        "wal/loads/<domain>/<load>",
        Scope.LOG,
        ("Load",),
        writer="log, for each bulk load; sweep expires it",
        meaning="A bulk load. Stands for the staging markers of all its WAL objects.",
    ),
    KeyFamily(
        "parquet/files/<domain>/<file>",
        Scope.LOG,
        ("ParquetFile",),
        writer="log, on swap",
        meaning="A Parquet file that the index references.",
    ),
    KeyFamily(
        "parquet/gc/<domain>/<file>",
        Scope.LOG,
        ("FileGcMarker",),
        writer="log, when the index releases the file; maintenance extends it",
        meaning="A Parquet file that is deleted after a grace period, unless the table still references it.",
    ),
    KeyFamily(
        "parquet/missing/<domain>/<file>",
        Scope.LOG,
        ("MissingFileHint",),
        writer="log, when a reader does not find a file",
        meaning="A Parquet file that is not where the index says. A hint for maintenance.",
    ),
    KeyFamily(
        "parquet/reference-checks/<domain>",
        Scope.LOG,
        ("ReferenceChecks",),
        writer="maintenance, once a pass",
        meaning="When each table was last checked for references to files that are pending deletion.",
    ),
    KeyFamily(
        "compaction/jobs/<stream>",
        Scope.LOG,
        ("CompactionJob",),
        writer="compaction, on every state change of a job",
        meaning="The last compaction job of a stream, and the progress of key compaction.",
    ),
    KeyFamily(
        "restore/log-<domain>",
        Scope.LOG,
        ("RestoreMarker",),
        writer="backup, while the domain is restored",
        meaning="Checked by every commit of the restore, so that an earlier one cannot continue.",
    ),
)


def log_domain(domain: MetaDomain) -> Domain:
    """Return the store's domain that holds the keys of streams and WAL objects of a meta domain."""
    return Domain(f"{_LOG_DOMAIN}{domain}")


def meta_domain_of(domain: Domain) -> MetaDomain | None:
    """Return the meta domain that `log_domain` has named, or None when it is another kind of domain."""
    return MetaDomain(int(domain.removeprefix(_LOG_DOMAIN))) if domain.startswith(_LOG_DOMAIN) else None


def head_key(stream: StreamId) -> str:
    return f"{STREAMS_PREFIX}{stream:016x}{_HEAD}"


def stream_of_head_key(key: str) -> StreamId | None:
    """Return the stream whose head `key` is, or None when it is another kind of key."""
    return _stream_of(key, _HEAD)


def key_compacted_key(stream: StreamId) -> str:
    return f"{STREAMS_PREFIX}{stream:016x}{_KEY_COMPACTED}"


def stream_of_key_compacted_key(key: str) -> StreamId | None:
    """Return the stream whose records were removed, or None when it is another kind of key."""
    return _stream_of(key, _KEY_COMPACTED)


def contended_key(stream: StreamId) -> str:
    return f"{STREAMS_PREFIX}{stream:016x}{_CONTENDED}"


def stream_of_contended_key(key: str) -> StreamId | None:
    """Return the stream that a broker could not commit to, or None when it is another kind of key."""
    return _stream_of(key, _CONTENDED)


def is_entry_key(key: str) -> bool:
    """Return whether a key below `streams/` is an entry of the offset index."""
    return key.startswith(_OFFSET_INDEX, _AFTER_STREAM)


def _stream_of(key: str, suffix: str) -> StreamId | None:
    if not (key.endswith(suffix) and key.startswith(STREAMS_PREFIX)):
        return None
    try:
        return StreamId(int(key[len(STREAMS_PREFIX) : -len(suffix)], 16))
    except ValueError:
        return None


def heads_range(after: StreamId | None = None, last: StreamId | None = None) -> tuple[str, str]:
    """Return the scan that covers the heads of the streams after one, up to and including another.

    None stands for the first and the last stream of the domain. Other keys of the same depth are included.
    """
    start = f"{STREAMS_PREFIX}/" if after is None else f"{head_key(after)}\0"
    return start, f"{STREAMS_PREFIX}g/" if last is None else f"{STREAMS_PREFIX}{last:016x}/~"


def is_producers_key(key: str) -> bool:
    return key.startswith(STREAMS_PREFIX) and key.endswith(_PRODUCERS)


def producers_key(stream: StreamId) -> str:
    return f"{STREAMS_PREFIX}{stream:016x}{_PRODUCERS}"


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


def entries_of_streams(after: StreamId | None, last: StreamId | None) -> tuple[str, str]:
    """Return the scan that covers, stream by stream and in order, the entries of the streams after one, up to
    and including another; None stands for the first and the last stream of the domain."""
    start = f"{STREAMS_PREFIX}///" if after is None else f"{STREAMS_PREFIX}{after:016x}/offset-index/:/"
    end = f"{STREAMS_PREFIX}g///" if last is None else f"{STREAMS_PREFIX}{last:016x}/offset-index/:/"
    return start, end


def stream_of_key(key: str) -> StreamId | None:
    """Return the stream that a key below `streams/` belongs to, or None for any other key."""
    if not key.startswith(STREAMS_PREFIX):
        return None
    try:
        return StreamId(int(key[len(STREAMS_PREFIX) :].partition("/")[0], 16))
    except ValueError:
        return None


def staging_key(domain: MetaDomain, wal: WalId) -> str:
    return f"{ROOT}/wal/staging/{domain}/{wal.hex()}"


def staging_range(domain: MetaDomain) -> tuple[str, str]:
    return children(f"{ROOT}/wal/staging/{domain}/")


def wal_object_key(domain: MetaDomain, wal: WalId) -> str:
    return f"{ROOT}/wal/objects/{domain}/{wal.hex()}"


def wal_object_range(domain: MetaDomain) -> tuple[str, str]:
    return children(f"{ROOT}/wal/objects/{domain}/")


def wal_gc_key(domain: MetaDomain, wal: WalId) -> str:
    return f"{ROOT}/wal/gc/{domain}/{wal.hex()}"


def wal_gc_range(domain: MetaDomain) -> tuple[str, str]:
    return children(f"{ROOT}/wal/gc/{domain}/")


def wal_of_key(key: str) -> WalId:
    """Return the WAL id at the end of a staging, object or gc key."""
    return WalId(bytes.fromhex(key.rpartition("/")[2]))


def load_key(domain: MetaDomain, load: LoadId) -> str:
    return f"{ROOT}/wal/loads/{domain}/{load.hex()}"


def loads_range(domain: MetaDomain) -> tuple[str, str]:
    return children(f"{ROOT}/wal/loads/{domain}/")


def load_of_key(key: str) -> LoadId:
    return LoadId(bytes.fromhex(key.rpartition("/")[2]))


def file_key(domain: MetaDomain, file: FileId) -> str:
    return f"{ROOT}/parquet/files/{domain}/{file.hex()}"


def file_range(domain: MetaDomain) -> tuple[str, str]:
    return children(f"{ROOT}/parquet/files/{domain}/")


def file_gc_key(domain: MetaDomain, file: FileId) -> str:
    return f"{ROOT}/parquet/gc/{domain}/{file.hex()}"


def file_gc_range(domain: MetaDomain) -> tuple[str, str]:
    return children(f"{ROOT}/parquet/gc/{domain}/")


def missing_file_key(domain: MetaDomain, file: FileId) -> str:
    return f"{ROOT}/parquet/missing/{domain}/{file.hex()}"


def missing_files_range(domain: MetaDomain) -> tuple[str, str]:
    return children(f"{ROOT}/parquet/missing/{domain}/")


def reference_check_key(domain: MetaDomain) -> str:
    return f"{ROOT}/parquet/reference-checks/{domain}"


def job_key(stream: StreamId) -> str:
    return f"{_JOBS}{stream:016x}"


def stream_of_job_key(key: str) -> StreamId | None:
    """Return the stream whose job the key holds, or None for any other key."""
    try:
        return StreamId(int(key.removeprefix(_JOBS), 16))
    except ValueError:
        return None


def jobs_range() -> tuple[str, str]:
    """Return the scan that covers the jobs of a domain's streams."""
    return children(_JOBS)
