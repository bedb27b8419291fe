"""Transcripts of exchanges on Dray, with the result on Apache Kafka.

    python -m tests.sasl.transcripts --record     run them on both, and write transcripts.txt

The file is compared with what Dray does in every run of the tests, and with what Kafka does where there is
Java. It names each difference in the result; `EXPLAINED` says why. A client that sends several extensions is
missing: on Kafka its result changes from run to run, with the random order of a `Map.copyOf`.
"""

import argparse
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from dray.sasl import Accepted, Challenge, Claims, InvalidToken, Rejected
from dray.sasl.tokens import validate
from tests.sasl.hosts import MECHANISMS, Host, Visible, users
from tests.sasl.kafka import KafkaAccepted, KafkaChallenge, KafkaEvent, KafkaServers, kafka_servers
from tests.sasl.kafka_cases import PASSWORDS, Case, cases, clock
from tests.sasl.signing import AUDIENCE, ISSUER, RULES, key_set, signing_keys

FILE: Final = Path(__file__).with_name("transcripts.txt")
SAME: Final = "the same"

EXPLAINED: Final[Mapping[str, str]] = {
    "PLAIN: not UTF-8, as if it were": "a password has no invalid bytes",
    "PLAIN: name of 1,025 bytes": "names are keys of the metadata store",
    "client: name of 1,025 bytes": "names are keys of the metadata store",
    "client: not ASCII": "names may be any UTF-8, as in the RFC",
    "client: unknown user": "where an unknown user is rejected must not show that it is unknown",
    "client: other authorization id of an unknown user": "nor must the sentence",
    "client: escaped authorization id": "an authorization id is unescaped before it is compared",
    "client: token": "delegation tokens are not supported, and the sentence says so",
    "client: mandatory extension": "it is rejected where it is not understood",
    "final: extension": "what is signed is what was sent",
    "final: another spelling of the proof": "base64 must be canonical",
    "final: cut": "a proof of a wrong length is wrong; Kafka closes the connection",
    "final: empty proof": "a proof of a wrong length is wrong; Kafka closes the connection",
    "final: proof of another length": "a proof of a wrong length is wrong; Kafka closes the connection",
    "final: proof of zeros": "a proof of a wrong length is wrong; Kafka closes the connection",
    "final: binding y": "the channel binding must repeat the header",
    "final: binding p": "the channel binding must repeat the header",
    "OAUTHBEARER: another scheme": "it is malformed; Kafka closes the connection",
    "OAUTHBEARER: signed with a secret of the key set": "a key that verifies must not be able to sign",
    "OAUTHBEARER: 70 KiB": "the size of tokens is limited",
    "OAUTHBEARER: auth twice": "which one counts must not be guessed",
    "OAUTHBEARER: another token": "nothing but the end follows the error",
    "OAUTHBEARER: issued in the future": "a token from the future shows a wrong clock or a forger",
}

_REPEATED: Final = re.compile(r"(\w)\1{99,}")
_TOKEN: Final = re.compile(r"eyJ[\w-]+\.[\w-]+\.[\w-]*")


def run_on_kafka(servers: KafkaServers, case: Case) -> str:
    """Return the result on Kafka."""
    servers.open(case.mechanism)
    results: list[str] = []
    challenge: bytes | None = None
    for step in case.steps:
        event = servers.send(step(challenge))
        results.append(_kafka_result(event, case.mechanism))
        if not isinstance(event, KafkaChallenge):
            break
        challenge = event.message
    return "; ".join(results)


def run_on_dray(case: Case) -> tuple[list[str], str]:
    """Return the messages and the result on Dray."""
    host = Host(users(**PASSWORDS), validate=_validate)
    exchange = host.open(case.mechanism)
    lines, results = [], []
    challenge: bytes | None = None
    for step in case.steps:
        message = step(challenge)
        event = host.send(exchange, message)
        lines += [f"C: {_readable(message)}", f"S: {_readable(_answer(event))}"]
        results.append(_dray_result(event))
        if not isinstance(event, Challenge):
            break
        challenge = event.message
    return lines, "; ".join(results)


def written(kafka: Mapping[str, str]) -> str:
    """Return the transcripts, given Kafka's results by case."""
    blocks = []
    for case in cases():
        lines, dray = run_on_dray(case)
        theirs = SAME if kafka[case.name] in (dray, SAME) else kafka[case.name]
        blocks.append("\n    ".join([case.name, *lines, f"Dray:  {dray}", f"Kafka: {theirs}"]))
    return "\n\n".join(blocks) + "\n"


def recorded() -> dict[str, str]:
    """Return Kafka's results of the file by case; `SAME` is kept."""
    blocks = FILE.read_text().strip().split("\n\n")
    return {
        block.partition("\n")[0]: block.rpartition("\n")[2].strip().removeprefix("Kafka: ")
        for block in blocks
    }


def differences(kafka: Mapping[str, str]) -> set[str]:
    """Return the cases in which Kafka's result is another one, without the mechanism of SCRAM."""
    return {re.sub(r"^SCRAM-SHA-\d+, ", "", name) for name, result in kafka.items() if result != SAME}


def results_of_kafka() -> dict[str, str]:
    with (
        tempfile.TemporaryDirectory() as folder,
        kafka_servers(Path(folder), key_set(), ISSUER, AUDIENCE, PASSWORDS) as servers,
    ):
        for mechanism in MECHANISMS:
            servers.open(mechanism)
            servers.send(b"")
        # All have answered; only now are tokens made, because they become invalid as time passes.
        return {case.name: run_on_kafka(servers, case) for case in cases()}


def _kafka_result(event: KafkaEvent, mechanism: str) -> str:
    if isinstance(event, KafkaChallenge):
        return "challenge"
    if isinstance(event, KafkaAccepted):
        return f"accepted {shortened(event.principal_name)}"
    if event.closes:
        return "closed"
    return f"rejected {event.for_the_client(mechanism)}"


def _dray_result(event: Visible) -> str:
    if isinstance(event, Challenge):
        return "challenge"
    if isinstance(event, Accepted):
        return f"accepted {shortened(event.authenticated.principal_name)}"
    return f"rejected {event.message}"


def shortened(text: str) -> str:
    return _REPEATED.sub(lambda run: f"<{len(run[0])} x {run[1]}>", text)


def _answer(event: Visible) -> bytes:
    return b"" if isinstance(event, Rejected) else event.message


def _readable(message: bytes) -> str:
    text = message.decode("utf-8", "backslashreplace").replace("\0", "<NUL>").replace("\x01", "<^A>")
    text = _TOKEN.sub("<token>", text.replace("\n", "<LF>"))
    return shortened(text) or "(empty)"


def _validate(token: str) -> Claims | InvalidToken:
    return validate(token, clock() * 1000, signing_keys(), RULES)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.sasl.transcripts", description=__doc__)
    parser.add_argument("--record", action="store_true", required=True, help="write transcripts.txt")
    parser.parse_args(arguments)
    FILE.write_text(written(results_of_kafka()))
    sys.stdout.write(f"{len(recorded())} exchanges\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
