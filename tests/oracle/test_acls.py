"""APIs of ACLs with an authorizer: the same responses as those of Kafka's StandardAuthorizer.

Without an authorizer they are compared in `test_differential`.
"""

from pathlib import Path
from typing import Final

import pytest

from dray.testing import broker
from tests.oracle import kafka
from tests.oracle.differences import Difference
from tests.oracle.scenarios import acls
from tests.oracle.test_differential import transcript
from tests.oracle.transcripts import contradictions

KAFKA: Final = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
DRAY: Final = {"security.authorizer_enable": "true", "security.super_users": "User:ANONYMOUS"}
REFUSED = Difference(
    r"acls\.refusing: CreateAcls: .* [12]",
    r"results\[[01]\]\.error_(code|message)",
    "Kafka fails the whole request with UNKNOWN_SERVER_ERROR for what only filters may have.",
)


@pytest.mark.real("java")
def test_dray_answers_as_kafka_with_an_authorizer_does(tmp_path: Path) -> None:
    unexplained, explained = [], 0
    with kafka.serve(tmp_path / "kafka", KAFKA) as theirs, broker(DRAY) as ours:
        for scenario in acls.WITH_AUTHORIZER:
            expected = transcript(scenario, theirs.address)
            given = transcript(scenario, (ours.host, ours.port))
            for found in contradictions(scenario.__name__, expected, given):
                if REFUSED.explains("acls", found):
                    explained += 1
                else:
                    unexplained.append(str(found))
    assert not unexplained, "\n".join(unexplained)
    assert explained, "this difference has gone; take it out"
