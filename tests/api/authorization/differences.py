"""Deliberate differences from Apache Kafka 4.3 in the answers of the matrix, with reasons.

`where` and `line` are regular expressions that must match the whole of "API vN, label: user" and of what only
one of the two has: the path of a struct, or the path and a field. A difference that no longer occurs fails
the test: remove it.
"""

import re
from typing import Final, NamedTuple


class Difference(NamedTuple):
    """Lines that differ deliberately."""

    where: str
    line: str
    reason: str

    def explains(self, place: str, line: str) -> bool:
        return bool(re.fullmatch(self.where, place) and re.fullmatch(self.line, line))

    def is_about(self, api: str) -> bool:
        """Return whether the difference is about this API, by the first part of `where`."""
        return bool(re.fullmatch(self.where.partition(" v")[0], api))


DIFFERENCES: Final = (
    Difference(
        r"Produce v.*, of a transaction that is denied: .*",
        r".*",
        "Transactions are not served: every transactional batch is rejected, whatever its transactional id.",
    ),
    Difference(
        r"InitProducerId v.*, transactional, .*: (owner|TRANSACTIONAL_ID-WRITE|admin)",
        r"- .*",
        "Transactions are not served.",
    ),
    Difference(
        r"FindCoordinator v[13], of transactional id .*: (owner|TRANSACTIONAL_ID-.*|admin)",
        r".* (host|port|node_id|error_code)=.*|"
        r'.* error_message="(NONE|Dray does not support transactions yet\.)"',
        "Transactions are not served.",
    ),
    Difference(
        r"FindCoordinator v[46], of transactional ids: (owner|TRANSACTIONAL_ID-.*|admin)",
        r".* (host=.*|port=.*|node_id=.*|error_code=UNSUPPORTED_VERSION|"
        r'error_message="Dray does not support transactions yet\.")',
        "Transactions are not served.",
    ),
    Difference(
        r"FindCoordinator v6, of share partitions: .*",
        r".*",
        "Share groups are not served: the type of the coordinator is unknown, also to those without rights.",
    ),
    Difference(
        r"Metadata v.*, creating topics: (creator|cluster-creator|owner|admin)",
        r"topics\[.*\](?! error_code=TOPIC_AUTHORIZATION_FAILED).*",
        "The first response already contains an auto-created topic; Kafka creates it after the response.",
    ),
    Difference(
        r"CreateTopics v7, only validated: .*",
        r".*",
        "Kafka makes up an id for a topic that it does not create.",
    ),
    Difference(
        r"DescribeConfigs v.*, unknown things: .*",
        r".* error_message=.*",
        "The message is in our own words.",
    ),
    Difference(
        r"(Incremental)?AlterConfigs v.*, (brokers|client metrics|several errors): .*",
        r"responses\[.*\] error_.*",
        "A broker's configs and those of client metrics cannot be changed by clients.",
    ),
    Difference(
        r"IncrementalAlterConfigs v.*, broker loggers: .*",
        r"responses\[1\] error_.*",
        "Log levels cannot be changed by clients. Kafka gives no message with this type of resource only.",
    ),
    Difference(
        r"(DescribeAcls|CreateAcls|DeleteAcls|AlterUserScramCredentials|ElectLeaders|"
        r"ListPartitionReassignments) v.*",
        r'.* error_message="(Request … needs (DESCRIBE|ALTER) permission\.|Cluster authorization failed\.)"',
        "Where Kafka's helper checks a request, the message is a dump of the request and its connection.",
    ),
)
