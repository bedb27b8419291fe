"""Coverage of produce errors and of known traps: each has a test.

`FAULTS` and `TRAPS` are the lists of requirements, in their order, each with its tests. The test of an error
that runs against Dray and Apache Kafka must expect the code that is listed here. A row fails when its test,
scenario or transcript is removed or no longer shows that code.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

import pytest

from dray.wire import ErrorCode as E
from tests.hostile.invalid import test_produce_errors as faults
from tests.oracle.scenarios import cluster, fetch, produce, records

TESTS: Final = Path(__file__).parents[2]
GOLDEN: Final = TESTS / "groups/golden/transcripts"
CASES: Final = {
    (case.what, case.code)
    for case in (*faults.FRAMES, *faults.REQUESTS, *faults.BATCHES, *faults.RECORDS, *faults.NO_FAULTS)
}
SCENARIOS: Final = {
    f"{module.__name__.rpartition('.')[2]}.{scenario.__name__}"
    for module in (cluster, fetch, produce, records)
    for scenario in module.SCENARIOS
}
HERE: Final = "hostile/invalid/test_produce_errors.py"

FAULTS: Final[Mapping[str, tuple[E, Sequence[str]]]] = MappingProxyType(
    {
        "a length below 14": (E.CORRUPT_MESSAGE, ["case batch length 13", "case batch length -1"]),
        "a magic byte that is none": (E.CORRUPT_MESSAGE, ["case magic 3", "case magic -1"]),
        "no whole batch": (
            E.INVALID_RECORD,
            ["case 0 bytes", "case 16 bytes", "case more bytes response than reply"],
        ),
        "several batches": (E.INVALID_RECORD, ["case two batches"]),
        "an old format": (E.INVALID_RECORD, ["case magic 0", "case magic 1"]),
        "zstd too early": (E.UNSUPPORTED_COMPRESSION_TYPE, ["case zstd before version 7"]),
        "other acks": (
            E.INVALID_REQUIRED_ACKS,
            ["case acks 2", f"{HERE}::test_invalid_acks_are_an_error_of_every_partition"],
        ),
        "an internal topic": (
            E.INVALID_TOPIC_EXCEPTION,
            [
                "api/test_produce.py::test_clients_cannot_write_to_internal_topics",
                "api/test_internal_topics.py::test_only_the_admin_client_may_write_to_internal_topics",
            ],
        ),
        "an unknown topic, partition or id": (
            E.UNKNOWN_TOPIC_OR_PARTITION,
            [
                "api/test_produce.py::test_unknown_topics_partitions_and_ids_have_their_error_codes",
                "scenario produce.unknown",
            ],
        ),
        "another broker's partition: there is none": (
            E.NONE,
            ["api/test_any_broker.py::test_broker_accepts_batches_for_partitions_it_does_not_lead"],
        ),
        "too few replicas: there are none": (
            E.NONE,
            ["case too few replicas, with acks all", "case too few replicas, with acks 1"],
        ),
        "a base offset": (E.INVALID_RECORD, ["case base offset 1", "case base offset -1"]),
        "too many bytes": (E.MESSAGE_TOO_LARGE, ["case a byte too large"]),
        "as many bytes as may be": (E.NONE, ["case exactly as large as allowed"]),
        "a wrong checksum": (E.CORRUPT_MESSAGE, ["case wrong checksum", "case a bit turned over"]),
        "less than a header": (E.CORRUPT_MESSAGE, ["case a header of 60 bytes"]),
        "larger than a segment": (E.RECORD_LIST_TOO_LARGE, ["case larger than a segment"]),
        "an impossible count": (E.INVALID_RECORD, ["case count 0", "case count -1", "case count 3"]),
        "an impossible last delta": (
            E.INVALID_RECORD,
            ["case last delta -1", f"case last delta {2**31 - 1}"],
        ),
        "a control batch": (E.INVALID_RECORD, ["case control"]),
        "a producer without sequence": (E.INVALID_RECORD, ["case a producer without sequence"]),
        "other records than counted": (
            E.INVALID_RECORD,
            [
                "case a record fewer than counted",
                "case a record more than counted",
                "case no records",
                "case a byte after them",
            ],
        ),
        "no key on a compacted topic": (
            E.INVALID_RECORD,
            [
                "case no key, NONE",
                "case no key, ZSTD",
                f"{HERE}::test_records_without_a_key_are_listed",
            ],
        ),
        "a wrong time": (
            E.INVALID_TIMESTAMP,
            [
                "case from the future",
                "case too old",
                "case stamped by the client",
                "case stamped with no time",
            ],
        ),
        "sequences and epochs": (
            E.OUT_OF_ORDER_SEQUENCE_NUMBER,
            [f"{HERE}::test_batches_of_a_known_producer", "scenario produce.sequences"],
        ),
        "transactions": (
            E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            [
                "api/test_produce.py::test_transactional_batches_are_refused",
                "scenario produce.transactions",
            ],
        ),
        "not durable in time": (
            E.REQUEST_TIMED_OUT,
            ["api/test_produce.py::test_batch_that_is_not_durable_in_time_returns_request_timed_out"],
        ),
        "quotas: there are none": (E.NONE, [f"{HERE}::test_unusual_but_valid_batch_is_accepted"]),
        "odd offset deltas": (E.NONE, ["case offset delta 0", "case offset delta 7"]),
        "half a batch after a whole one": (E.NONE, ["case half a batch after it"]),
        "a fault of one partition only": (
            E.NONE,
            ["api/test_produce.py::test_invalid_batch_does_not_affect_other_partitions"],
        ),
    }
)

_TRAPS = "hostile/invalid/test_traps.py"
TRAPS: Final[Mapping[int, Sequence[str]]] = MappingProxyType(
    {
        1: [
            "api/test_api_versions.py::test_response_header_has_no_tags_even_in_flexible_versions",
            "api/test_api_versions.py::test_unsupported_version_is_answered_in_version_0",
            "scenario cluster.api_versions",
        ],
        2: [
            "api/test_dispatch.py::test_unsupported_version_closes_the_connection",
            "scenario cluster.frames",
        ],
        3: [f"{_TRAPS}::test_versions_that_old_clients_look_for_are_advertised_from_0"],
        4: [
            "api/test_metadata.py::test_empty_list_means_no_topics_and_null_means_all",
            "scenario cluster.metadata",
        ],
        5: [
            f"{_TRAPS}::test_full_fetch_is_answered_for_every_partition_once",
            "api/test_fetch.py::test_incremental_fetch_returns_fetch_session_id_not_found",
            "scenario fetch.sessions",
        ],
        6: [
            "api/test_fetch.py::test_first_batch_is_returned_whole_whatever_the_limits",
            "scenario fetch.limits",
        ],
        7: [
            f"{_TRAPS}::test_offset_inside_a_batch_returns_all_of_it_and_the_end_returns_nothing",
            "scenario fetch.offsets",
        ],
        8: ["api/test_fetch.py::test_aborted_transactions_are_null_or_empty", "scenario fetch.isolation"],
        9: [f"{_TRAPS}::test_acks_0_has_no_response_and_keeps_the_connection"],
        10: [
            f"{_TRAPS}::test_timestamp_after_all_records_has_no_offset_and_no_error",
            "api/test_list_offsets.py::test_both_isolation_levels_return_the_same_end_offset",
            "scenario records.by_time",
        ],
        11: [f"{_TRAPS}::test_fields_that_the_broker_sets_are_outside_the_checksum"],
        12: [
            f"{_TRAPS}::test_leader_epoch_never_changes",
            f"{_TRAPS}::test_produce_by_the_id_of_a_recreated_topic_is_unknown_topic_id",
            "api/test_fetch.py::test_id_of_a_deleted_topic_is_unknown",
        ],
        13: [f"{_TRAPS}::test_bumped_epoch_and_batches_of_the_previous_one"],
        14: [
            "golden joining/version_3 NONE",
            "golden joining/version_4 MEMBER_ID_REQUIRED",
            "golden static_members/fencing FENCED_INSTANCE_ID",
        ],
        15: [
            "golden leaving/and_returning generation",
            "golden offsets/of_an_empty_group NONE",
            "golden offsets/of_a_stable_group UNKNOWN_MEMBER_ID",
        ],
        16: [
            "golden heartbeats/unknown_group UNKNOWN_MEMBER_ID",
            "golden leaving/unknown_group UNKNOWN_MEMBER_ID",
            "golden joining/unknown_ids UNKNOWN_MEMBER_ID",
            "golden syncing/unknown_members UNKNOWN_MEMBER_ID",
            "golden offsets/generations_of_an_unknown_group GROUP_ID_NOT_FOUND",
            "golden groups/describing_unknown_groups GROUP_ID_NOT_FOUND",
            "golden groups/deleting GROUP_ID_NOT_FOUND",
            "golden epochs/unknown_members GROUP_ID_NOT_FOUND",
        ],
        17: [
            "golden consumers/two_members assignment",
            "golden revoking/unacknowledged member_epoch",
            "golden epochs/previous_epoch FENCED_MEMBER_EPOCH",
        ],
        18: [
            "api/test_metadata.py::test_all_apis_return_the_same_brokers",
            "api/test_any_broker.py::test_only_live_brokers_are_reported_also_as_controller",
        ],
        19: [f"{_TRAPS}::test_versions_that_old_clients_look_for_are_advertised_from_0"],
        20: [
            "api/test_produce.py::test_both_framings_of_snappy_are_accepted",
            "case zstd before version 7",
            "case codec LZ4",
        ],
    }
)


def fault_of(holder: str, code: E | None = None) -> str | None:
    """Return why this does not test its requirement; None if it does."""
    kind, _, rest = holder.partition(" ")
    if kind == "case":
        codes = {one for what, one in CASES if what == rest}
        return None if (code in codes if code is not None else codes) else f"no case of {code!r} is {rest!r}"
    if kind == "scenario":
        return None if rest in SCENARIOS else f"no scenario is {rest}"
    if kind == "golden":
        return _golden_fault(*rest.split())
    path, _, name = holder.partition("::")
    found = re.search(rf"^(?:async )?def {name}\(", (TESTS / path).read_text(), re.MULTILINE)
    return None if found else f"{path} has no {name}"


def _golden_fault(name: str, shown: str) -> str | None:
    text = (GOLDEN / f"{name}.txt").read_text()
    return None if shown in text else f"{name} does not show {shown}"


@pytest.mark.parametrize("what", FAULTS)
def test_every_produce_error_has_a_test(what: str) -> None:
    code, holders = FAULTS[what]
    assert holders
    assert [fault for holder in holders if (fault := fault_of(holder, code))] == []


@pytest.mark.parametrize("number", TRAPS)
def test_every_trap_has_a_test(number: int) -> None:
    assert TRAPS[number]
    assert [fault for holder in TRAPS[number] if (fault := fault_of(holder))] == []


def test_all_traps_are_listed() -> None:
    assert list(TRAPS) == list(range(1, 21))
