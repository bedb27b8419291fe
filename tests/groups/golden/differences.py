"""Known differences between Dray's groups and Apache Kafka 4.3, with their reasons. Nothing else may differ.

`where` is a regular expression that matches all of "scenario: first line of the step", and `kafka` one that
is found in Kafka's version of the step. The exact difference is stored beside the transcript, as a diff. A
known difference that no longer occurs fails a test: remove it.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from tests.groups.golden.comparing import Contradiction


@dataclass(frozen=True, slots=True)
class KnownDifference:
    """Steps that differ on purpose."""

    where: str
    reason: str
    kafka: str = ""
    only_wording: bool = False
    """Whether only the wording of a message may differ."""

    def explains(self, found: Contradiction) -> bool:
        place = f"{found.scenario}: {found.step}"
        return bool(
            re.fullmatch(self.where, place)
            and re.search(self.kafka, found.kafka)
            and (found.only_wording or not self.only_wording)
        )


def unexplained(found: Iterable[Contradiction]) -> list[Contradiction]:
    """Return the contradictions that no known difference explains."""
    return [one for one in found if not any(known.explains(one) for known in DIFFERENCES)]


DIFFERENCES: Final = (
    KnownDifference(
        r".*",
        "The wording of the message is Dray's.",
        only_wording=True,
    ),
    KnownDifference(
        r"joining/joining_twice: b .* JoinGroup.*",
        "Kafka never answers the first of two joins of one member. Dray answers both.",
    ),
    KnownDifference(
        r"syncing/twice_while_waiting: b .* SyncGroup.*",
        "Kafka never answers the first of two syncs of one member. Dray answers both.",
    ),
    KnownDifference(
        r"leaving/while_completing: b .* SyncGroup.*",
        "Kafka never answers the pending sync of a member that leaves. Dray returns UNKNOWN_MEMBER_ID.",
    ),
    KnownDifference(
        r"offsets/deleting_with_malformed_subscription: b .* JoinGroup.*",
        "Kafka fails on a length in this subscription and never answers. Dray does not decode it.",
    ),
    KnownDifference(
        r"consumers/full: d asks .*",
        "4.3 rejects a static member that returns to a full group; later versions and Dray admit it.",
    ),
    KnownDifference(
        r"consumer_static_members/returning_under_the_same_id: b asks .*",
        "A static member that joins again under its own id is admitted: its first reply may have been lost.",
    ),
    KnownDifference(
        r"consumers/without_an_id: a asks .*",
        "Dray assigns a UUID in the usual 36 characters, as other members use.",
    ),
    KnownDifference(
        r"consumer_offsets/fetch_permission: a asks OffsetFetch v9",
        "Kafka returns UNKNOWN_SERVER_ERROR for an epoch without a member; Dray returns the actual error.",
        kafka="UNKNOWN_SERVER_ERROR",
    ),
    KnownDifference(
        r"subscriptions/(.*regex.*|whole_names): .*",
        "Kafka evaluates a regex in the background, for a later heartbeat. Dray evaluates it at once.",
    ),
    KnownDifference(
        r"(migration|mixed_groups|migration_policies)/.*",
        "Kafka assigns classic members of a consumer group ids without the client id; Dray does not.",
        kafka=r"<id-\d+>",
    ),
    KnownDifference(
        r"migration/upgrade_while_completing: c asks ConsumerGroupDescribe .*",
        "A member that has not fetched its new assignment owns what it reported, not its target.",
    ),
)
