"""Where Dray deliberately answers otherwise than Apache Kafka 4.3, and why. Nothing else may differ.

`where` and `path` are regular expressions that must match the whole of "module.scenario: API: label" and of
the field's path. A difference that no longer shows fails the test: take it out.
"""

import re
from dataclasses import dataclass
from typing import Final

from tests.oracle.transcripts import Contradiction


@dataclass(frozen=True, slots=True)
class Difference:
    """Fields that are meant to differ."""

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
        "Kafka says nothing beside most codes. We say in a sentence what was expected and what came.",
    ),
    Difference(
        r"produce\..*",
        r".*\.log_start_offset",
        "With some refusals Kafka tells the log's start. We do not look it up for a batch that is not taken.",
    ),
    Difference(
        r"produce\.timestamps: .*",
        r".*\.record_errors.*",
        "Timestamps are judged by the batch's header: the batch is refused, the record is not named.",
    ),
    Difference(
        r"produce\.compacted: .*",
        r".*\.record_errors.*batch_index_error_message",
        "The message is in our own words.",
    ),
    Difference(
        r"produce\.unsound_batches: .*: unknown codec",
        r".*\.error_code",
        "Kafka falls over with UNKNOWN_SERVER_ERROR; UNSUPPORTED_COMPRESSION_TYPE says what is wrong.",
    ),
    Difference(
        r"produce\.unsound_batches: .*: gzip that is none",
        r".*\.(error_code|base_offset)",
        "Compressed records are not decompressed to be checked (dray.records.glance); Kafka falls over.",
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
        "Kafka falls over a limit below 0 with UNKNOWN_SERVER_ERROR; we take it for 0.",
    ),
    Difference(
        r"fetch\.sessions: .*: session \(77, 0\)",
        r"session_id",
        "There are no fetch sessions: session 0 makes clients send full requests.",
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
        "Kafka falls over with UNKNOWN_SERVER_ERROR from version 12 on; the name is what is wrong.",
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
        "Kafka falls over with UNKNOWN_SERVER_ERROR; INVALID_REQUEST says whose fault it is.",
    ),
)
