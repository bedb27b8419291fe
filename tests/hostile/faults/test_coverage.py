"""Every fault that Kafka finds in a produce request, and every trap for brokers like this one, has a test.

`FAULTS` and `TRAPS` are the lists of facts that Dray was written from, in their order; beside each stands
what holds it. Of a fault that is put to Dray and to Apache Kafka itself the code must be the one named
here. A test, scenario or transcript that goes away, or no longer shows that code, takes its row with it and
fails.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

import pytest

from dray.wire import ErrorCode as E
from tests.hostile.faults import test_produce_faults as faults
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
HERE: Final = "hostile/faults/test_produce_faults.py"

FAULTS: Final[Mapping[str, tuple[E, Sequence[str]]]] = MappingProxyType(
    {
        "a length below 14": (E.CORRUPT_MESSAGE, ["case batch length 13", "case batch length -1"]),
        "a magic byte that is none": (E.CORRUPT_MESSAGE, ["case magic 3", "case magic -1"]),
        "no whole batch": (
            E.INVALID_RECORD,
            ["case 0 bytes", "case 16 bytes", "case more bytes told than came"],
        ),
        "several batches": (E.INVALID_RECORD, ["case two batches"]),
        "an old format": (E.INVALID_RECORD, ["case magic 0", "case magic 1"]),
        "zstd too early": (E.UNSUPPORTED_COMPRESSION_TYPE, ["case zstd before version 7"]),
        "other acks": (
            E.INVALID_REQUIRED_ACKS,
            ["case acks 2", f"{HERE}::test_wrong_acks_are_told_to_every_partition"],
        ),
        "an internal topic": (
            E.INVALID_TOPIC_EXCEPTION,
            [
                "api/test_produce.py::test_kafkas_own_topics_are_not_written_to",
                "api/test_internal_topics.py::test_who_may_write_to_them",
            ],
        ),
        "an unknown topic, partition or id": (
            E.UNKNOWN_TOPIC_OR_PARTITION,
            ["api/test_produce.py::test_unknown_topics_partitions_and_ids", "scenario produce.unknown"],
        ),
        "another broker's partition: there is none": (
            E.NONE,
            ["api/test_any_broker.py::test_a_broker_takes_batches_for_partitions_it_does_not_lead"],
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
                "case a byte behind them",
            ],
        ),
        "no key on a compacted topic": (
            E.INVALID_RECORD,
            [
                "case no key, NONE",
                "case no key, ZSTD",
                f"{HERE}::test_the_records_that_have_no_key_are_named",
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
            [f"{HERE}::test_what_a_known_producer_may_send", "scenario produce.sequences"],
        ),
        "transactions": (
            E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            [
                "api/test_produce.py::test_batches_of_a_transaction_are_refused",
                "scenario produce.transactions",
            ],
        ),
        "not durable in time": (
            E.REQUEST_TIMED_OUT,
            ["api/test_produce.py::test_what_is_not_durable_in_time_is_told_so"],
        ),
        "quotas: there are none": (E.NONE, [f"{HERE}::test_what_is_no_fault_is_taken"]),
        "odd offset deltas": (E.NONE, ["case offset delta 0", "case offset delta 7"]),
        "half a batch behind a whole one": (E.NONE, ["case half a batch behind it"]),
        "a fault of one partition only": (
            E.NONE,
            ["api/test_produce.py::test_one_bad_partition_does_not_harm_the_others"],
        ),
    }
)

_TRAPS = "hostile/faults/test_traps.py"
TRAPS: Final[Mapping[int, Sequence[str]]] = MappingProxyType(
    {
        1: [
            "api/test_api_versions.py::test_the_answers_header_has_no_tags_even_in_flexible_versions",
            "api/test_api_versions.py::test_a_version_that_is_not_served_is_answered_in_version_0",
            "scenario cluster.api_versions",
        ],
        2: [
            "api/test_dispatch.py::test_who_asks_for_a_version_that_is_not_served_is_cut_off",
            "scenario cluster.frames",
        ],
        3: [f"{_TRAPS}::test_3_what_old_clients_look_for_is_advertised_from_0"],
        4: ["api/test_metadata.py::test_no_topics_are_none_and_null_is_all", "scenario cluster.metadata"],
        5: [
            f"{_TRAPS}::test_5_a_full_fetch_is_answered_for_every_partition_once",
            "api/test_fetch.py::test_an_incremental_fetch_has_no_session_here",
            "scenario fetch.sessions",
        ],
        6: [
            "api/test_fetch.py::test_the_first_batch_comes_whole_however_small_the_limits",
            "scenario fetch.limits",
        ],
        7: [
            f"{_TRAPS}::test_7_an_offset_inside_a_batch_gets_all_of_it_and_the_end_is_no_fault",
            "scenario fetch.offsets",
        ],
        8: ["api/test_fetch.py::test_aborted_transactions_are_null_or_none", "scenario fetch.isolation"],
        9: [f"{_TRAPS}::test_9_acks_0_is_taken_without_a_word_and_the_socket_is_kept"],
        10: [
            f"{_TRAPS}::test_10_a_time_behind_all_records_is_nowhere_and_no_fault",
            "api/test_list_offsets.py::test_both_isolation_levels_see_the_same_end",
            "scenario records.by_time",
        ],
        11: [f"{_TRAPS}::test_11_what_is_set_when_a_batch_is_stored_is_outside_its_checksum"],
        12: [
            f"{_TRAPS}::test_12_the_leader_epoch_stays_what_it_is",
            f"{_TRAPS}::test_12_the_id_of_a_topic_that_was_made_again_is_unknown_to_a_produce",
            "api/test_fetch.py::test_the_id_of_a_deleted_topic_is_unknown",
        ],
        13: [f"{_TRAPS}::test_13_an_epoch_more_from_nowhere_and_what_was_had_before"],
        14: [
            "golden joining/version_3 NONE",
            "golden joining/version_4 MEMBER_ID_REQUIRED",
            "golden instances/fencing FENCED_INSTANCE_ID",
        ],
        15: [
            "golden leaving/and_returning generation",
            "golden offsets/of_an_empty_group NONE",
            "golden offsets/of_a_stable_group UNKNOWN_MEMBER_ID",
        ],
        16: [
            "golden beating/no_group UNKNOWN_MEMBER_ID",
            "golden leaving/no_group UNKNOWN_MEMBER_ID",
            "golden joining/strangers UNKNOWN_MEMBER_ID",
            "golden syncing/strangers UNKNOWN_MEMBER_ID",
            "golden offsets/generations_of_no_group GROUP_ID_NOT_FOUND",
            "golden groups/describing_nothing GROUP_ID_NOT_FOUND",
            "golden groups/deleting GROUP_ID_NOT_FOUND",
            "golden epochs/strangers GROUP_ID_NOT_FOUND",
        ],
        17: [
            "golden consumers/two_members assignment",
            "golden revoking/unacknowledged member_epoch",
            "golden epochs/the_one_before FENCED_MEMBER_EPOCH",
        ],
        18: [
            "api/test_metadata.py::test_all_apis_name_the_same_brokers",
            "api/test_any_broker.py::test_brokers_and_controller_are_alive",
        ],
        19: [f"{_TRAPS}::test_3_what_old_clients_look_for_is_advertised_from_0"],
        20: [
            "api/test_produce.py::test_both_framings_of_snappy_are_read",
            "case zstd before version 7",
            "case codec LZ4",
        ],
    }
)


def fault_of(holder: str, code: E | None = None) -> str | None:
    """Return why this does not hold what it stands for; None if it does."""
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
def test_every_fault_of_a_produce_request_is_held(what: str) -> None:
    code, holders = FAULTS[what]
    assert holders
    assert [fault for holder in holders if (fault := fault_of(holder, code))] == []


@pytest.mark.parametrize("number", TRAPS)
def test_every_trap_is_held(number: int) -> None:
    assert TRAPS[number]
    assert [fault for holder in TRAPS[number] if (fault := fault_of(holder))] == []


def test_no_trap_is_left_out() -> None:
    assert list(TRAPS) == list(range(1, 21))
