"""Where Dray's groups deliberately do otherwise than Apache Kafka 4.3, and why. Nothing else may differ.

`where` is a regular expression for the whole of "scenario: first line of the step", and `kafka` for something
in what Kafka did there. What exactly differs is kept beside the transcript, as a diff; here is why it is
right. A difference that no longer shows fails the test: take it out.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from tests.groups.golden.comparing import Contradiction


@dataclass(frozen=True, slots=True)
class Difference:
    """Steps that are meant to differ."""

    where: str
    reason: str
    kafka: str = ""
    in_words: bool = False
    """Whether nothing but the wording of a message may differ."""

    def explains(self, found: Contradiction) -> bool:
        place = f"{found.scenario}: {found.step}"
        return bool(
            re.fullmatch(self.where, place)
            and re.search(self.kafka, found.kafka)
            and (found.in_words or not self.in_words)
        )


def unexplained(found: Iterable[Contradiction]) -> list[Contradiction]:
    """Return what no known difference explains."""
    return [one for one in found if not any(known.explains(one) for known in DIFFERENCES)]


DIFFERENCES: Final = (
    Difference(
        r".*",
        "The message is in our own words.",
        in_words=True,
    ),
    Difference(
        r"joining/joining_twice: b .* JoinGroup.*",
        "Kafka forgets the first of two joins of one member and leaves it hanging. We answer both.",
    ),
    Difference(
        r"syncing/twice_while_waiting: b .* SyncGroup.*",
        "Kafka forgets the first of two syncs of one member and leaves it hanging. We answer both.",
    ),
    Difference(
        r"leaving/while_completing: b .* SyncGroup.*",
        "Kafka never answers the waiting sync of a member that leaves. We say that the member is unknown.",
    ),
    Difference(
        r"offsets/deleting_with_odd_subscription: b .* JoinGroup.*",
        "Kafka trips over a length in this subscription and never answers. We do not look into it.",
    ),
    Difference(
        r"consumers/full: d asks .*",
        "4.3 refuses a static member that returns to a full group; later versions let it in, and so do we.",
    ),
    Difference(
        r"consumer_instances/coming_back_as_oneself: b asks .*",
        "A static member that begins again under its own id is let in: its first answer may have been lost.",
    ),
    Difference(
        r"consumers/without_an_id: a asks .*",
        "An id that we make up looks like that of any member: a UUID in the usual 36 characters.",
    ),
    Difference(
        r"consumer_offsets/who_fetches: a asks OffsetFetch v9",
        "Kafka falls over an epoch without a member with UNKNOWN_SERVER_ERROR; we say what is wrong.",
        kafka="UNKNOWN_SERVER_ERROR",
    ),
    Difference(
        r"subscriptions/(.*pattern.*|whole_names): .*",
        "Kafka matches a pattern in the background and has it at a later heartbeat. We match it at once.",
    ),
    Difference(
        r"(migration|mixed|policies)/.*",
        "Kafka gives classic members that come to a group of the consumer protocol bare ids; we do not.",
        kafka=r"<id-\d+>",
    ),
    Difference(
        r"migration/upgrade_while_completing: c asks ConsumerGroupDescribe .*",
        "A member that has not fetched its new assignment has what it said it owns, not what it is to have.",
    ),
)
