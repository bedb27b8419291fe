"""Properties files of Kafka's tools as librdkafka's configuration."""

import pytest
from confluent_kafka.admin import AdminClient

from dray.client.command_config import InvalidCommandConfig, parse_command_config

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


def test_file_of_kafkas_tools_is_translated() -> None:
    found = parse_command_config(
        "# a comment\n"
        "security.protocol=sasl_ssl\n"
        "! another\n"
        "sasl.mechanism : SCRAM-SHA-512\n"
        f'sasl.jaas.config = {SCRAM} required \\\n    username="alice" \\\n    password="s=e;c\\\\\\"r t";\n'
        "ssl.truststore.type=PEM\n"
        "ssl.truststore.location=/etc/ca.crt\n"
        "ssl.endpoint.identification.algorithm=\n"
        "client.id tool\n"
    )
    assert found == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanisms": "SCRAM-SHA-512",
        "sasl.username": "alice",
        "sasl.password": 's=e;c"r t',
        "ssl.ca.location": "/etc/ca.crt",
        "ssl.endpoint.identification.algorithm": "none",
        "client.id": "tool",
    }
    AdminClient({**found, "ssl.ca.location": ""})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=b=c", {"a": "b=c"}),
        (r"a\=b=c\u0041\t\z", {"a=b": "cA\tz"}),
        ("a", {"a": ""}),
        ("\n   \n", {}),
        ("a=b\\\\", {"a": "b\\"}),
        ("a=b\\", {"a": "b"}),
        (
            "ssl.keystore.type=PEM\nssl.keystore.location=/k.pem\nssl.key.password=p",
            {
                "ssl.certificate.location": "/k.pem",
                "ssl.key.location": "/k.pem",
                "ssl.key.password": "p",
            },
        ),
        (
            "ssl.keystore.type=pkcs12\nssl.keystore.location=/k.p12\nssl.keystore.password=p",
            {"ssl.keystore.location": "/k.p12", "ssl.keystore.password": "p"},
        ),
        (
            "ssl.keystore.key=K\nssl.keystore.certificate.chain=C",
            {"ssl.key.pem": "K", "ssl.certificate.pem": "C"},
        ),
        (
            f"sasl.jaas.config={PLAIN} required username=a password=b;",
            {"sasl.username": "a", "sasl.password": "b"},
        ),
        ("ssl.protocol=TLSv1.3\nssl.truststore.password=x", {}),
    ],
)
def test_properties_are_read_as_java_reads_them(text: str, expected: dict[str, str]) -> None:
    assert parse_command_config(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bootstrap.servers=h:1", "bootstrap.servers is not read from the file; use --bootstrap"),
        (
            "ssl.truststore.location=/t",
            "ssl.truststore.type=JKS cannot be read; convert the store, and set ssl.tru",
        ),
        ("ssl.keystore.location=/t\nssl.keystore.type=BCFKS", "ssl.keystore.type=BCFKS cannot be read"),
        ("sasl.jaas.config=com.example.Login required;", "sasl.jaas.config: expected org.apache.kafka"),
        (f'sasl.jaas.config={PLAIN} required username="a";', "sasl.jaas.config has no password"),
        (f'sasl.jaas.config={PLAIN} required username="a" password="b"', "sasl.jaas.config: expected"),
    ],
)
def test_problem_names_the_key(text: str, expected: str) -> None:
    with pytest.raises(InvalidCommandConfig, match=f"^{expected}"):
        parse_command_config(text)
