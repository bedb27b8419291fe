"""Deliberate differences between Dray and Apache Kafka 4.3, with reasons. No other field may differ.

`where` and `path` are regular expressions that must match the whole of "module.scenario: API: label" and of
the field's path. A difference that no longer occurs fails the test: remove it.
"""

import re
from dataclasses import dataclass
from typing import Final

from tests.oracle.transcripts import Contradiction


@dataclass(frozen=True, slots=True)
class Difference:
    """Fields that differ deliberately."""

    where: str
    path: str
    reason: str

    def explains(self, module: str, found: Contradiction) -> bool:
        place = f"{module}.{found.scenario}: {found.step.api}: {found.step.label}"
        return bool(re.fullmatch(self.where, place) and re.fullmatch(self.path, found.path))


DIFFERENCES: Final = (
    Difference(
        r"produce\..*",
        r".*\.error_message",
        "Kafka returns no message with most codes. Ours names the expected and the actual value.",
    ),
    Difference(
        r"produce\..*",
        r".*\.log_start_offset",
        "With some errors Kafka returns the log start. We do not look it up for a refused batch.",
    ),
    Difference(
        r"produce\.timestamps: .*",
        r".*\.record_errors.*",
        "Timestamps are checked by the batch's header: the batch is rejected, the record is not named.",
    ),
    Difference(
        r"produce\.compacted: .*",
        r".*\.record_errors.*batch_index_error_message",
        "The message is in our own words.",
    ),
    Difference(
        r"produce\.invalid_batches: .*: unknown codec",
        r".*\.error_code",
        "Kafka fails with UNKNOWN_SERVER_ERROR; UNSUPPORTED_COMPRESSION_TYPE says what is wrong.",
    ),
    Difference(
        r"produce\.invalid_batches: .*: gzip that is none",
        r".*\.(error_code|base_offset)",
        "Kafka fails on bytes that are not of their codec with UNKNOWN_SERVER_ERROR; we say INVALID_RECORD.",
    ),
    Difference(
        r"produce\.several_partitions: .*",
        r".*",
        "One batch with a broken frame makes Kafka refuse the whole request; we refuse that batch alone.",
    ),
    Difference(
        r"produce\.transactions: .*: of no transaction",
        r".*\.error_code",
        "Transactions are not served, so none is open; Kafka would first look for a coordinator.",
    ),
    Difference(
        r"fetch\.limits: .*(partition )?bytes -1",
        r".*",
        "Kafka fails with UNKNOWN_SERVER_ERROR for a limit below 0; we treat it as 0.",
    ),
    Difference(
        r"sessions\.deleted: .*",
        r".*\.error_code",
        "UNKNOWN_TOPIC_ID is what a request without a session gets; in a session Kafka looks for the name.",
    ),
    Difference(
        r"records\.deleting: .*: newest of an emptied log",
        r".*",
        "Kafka names a record that has been deleted; there is none.",
    ),
    Difference(
        r"cluster\.api_versions: .*",
        r"api_keys.*",
        "What is not served is not advertised; Fetch 18 is for replicas.",
    ),
    Difference(
        r"cluster\.api_versions: .*",
        r"(supported|finalized)_features.*",
        "Only group.version is a feature that clients of ours meet; our epoch is always 0.",
    ),
    Difference(
        r"cluster\.metadata_of_strangers: .*: neither name nor id",
        r".*",
        "Kafka fails with UNKNOWN_SERVER_ERROR from version 12 on; the name is what is wrong.",
    ),
    Difference(
        r"scram\.credentials: .*|scram\.wrong_changes: .*: one of two mechanisms wrong",
        r"results\[\d+\]\.(error_code|error_message|credential_infos.*)",
        "A request may alter both credentials of a user, as in an example of Kafka's documentation.",
    ),
    Difference(
        r"cluster\.coordinators: .*",
        r".*error_message",
        "The message is in our own words.",
    ),
    Difference(
        r"topics\.creating: .*: only validated",
        r".*\.topic_id",
        "Kafka makes up an id for a topic that it does not make.",
    ),
    Difference(
        r"(topics|configs)\..*",
        r".*configs\[min\.insync\.replicas\].*",
        "Kafka sets this config for the whole cluster when it is formatted; here it is a plain default.",
    ),
    Difference(
        r"configs\.describing: .*: unknown kind.*",
        r".*error_message",
        "The message is in our own words.",
    ),
    Difference(
        r"configs\.incremental: .*: unknown operation",
        r".*error_(code|message)",
        "Kafka fails with UNKNOWN_SERVER_ERROR; INVALID_REQUEST is the client's error.",
    ),
    Difference(
        r"deviations\.offset_deltas: .*, (GZIP|SNAPPY|LZ4|ZSTD), .*",
        r".*",
        "Kafka fails to rebuild a compressed batch; we store it as sent, as Kafka does an uncompressed one.",
    ),
    Difference(
        r"deviations\.offset_deltas: .*, (a gap|beyond the last), NONE, CreateTime",
        r"found",
        "A record with an offset beyond its batch's last is found by its time; Kafka finds nothing there.",
    ),
    Difference(
        r"deviations\.timestamps: .*: large, latest (the base|too early|too late), .*",
        r"max_timestamp|found|newest",
        "maxTimestamp of a large batch is taken from its header if that is plausible, until compaction.",
    ),
    Difference(
        r"deviations\.timestamps: .*: large, one (far ahead|that wraps|at the beginning of numbers), .*",
        r".*",
        "The times of a large batch are checked by its header if that is plausible.",
    ),
    Difference(
        r"deviations\.counts: .*: large, .*",
        r".*",
        "Of a large batch only the first records are counted, or none if it is compressed.",
    ),
    Difference(
        r"deviations\.singles: .*: large, a single record, latest too early, .*",
        r"max_timestamp|found|newest",
        "maxTimestamp of a large batch is taken from its header if that is plausible, until compaction.",
    ),
    Difference(
        r"deviations\.singles: .*: large, a single record, far ahead, .*",
        r".*",
        "The times of a large batch are checked by its header if that is plausible.",
    ),
    Difference(
        r"deviations\.singles: .*: large, a single record, (missing|cut short|twice), .*",
        r".*",
        "Of a large batch only the first records are counted, or none if it is compressed.",
    ),
    Difference(
        r"deviations\.framings: .*: (small|large), LZ4 in two frames, .*",
        r".*",
        "Kafka reads one LZ4 frame and misses the records of the next one; we read both.",
    ),
    Difference(
        r"deviations\.framings: .*: small, (GZIP with zeros|GZIP with garbage|LZ4 with garbage) behind, .*",
        r".*",
        "Kafka does not look at what follows compressed records; we reject it.",
    ),
    Difference(
        r"deviations\.framings: .*: large, (GZIP with zeros|GZIP with garbage|LZ4 with garbage) behind, .*",
        r"found|newest",
        "Records that we cannot decompress are found by their header; Kafka ignores what follows them.",
    ),
    Difference(
        r"deviations\.framings: .*: small, .*(cut short|(SNAPPY|ZSTD) with garbage|wrong checksum|Google).*",
        r"error_code",
        "Kafka fails with UNKNOWN_SERVER_ERROR for what cannot be decompressed; here it is INVALID_RECORD.",
    ),
    Difference(
        r"deviations\.framings: .*: large, .*(cut short|(SNAPPY|ZSTD) with garbage|wrong checksum|Google).*",
        r".*",
        "A large compressed batch is not opened.",
    ),
    Difference(
        r"deviations\.lengths: .*: small, record length .*, (GZIP|SNAPPY|LZ4|ZSTD), .*",
        r".*",
        "Kafka does not look at lengths of compressed records, and no consumer can read past a wrong one.",
    ),
    Difference(
        r"deviations\.lengths: .*: large, record length .*, NONE, .*",
        r".*",
        "Of a large batch only the first records are stepped over.",
    ),
    Difference(
        r"deviations\.lengths: .*: large, record length .*, (GZIP|SNAPPY|LZ4|ZSTD), CreateTime",
        r"found|newest",
        "Records that cannot be read are found by their batch's header; Kafka finds nothing there.",
    ),
    Difference(
        r"deviations\.lengths: .*, (bytes left over|key|value|one header|header) .*",
        r".*",
        "The fields inside a record are not read.",
    ),
)
