"""Settings of several brokers on one machine, refused combinations, and messages to their processes."""

import pytest

from dray.cluster.addresses import Address
from dray.server.errors import ConfigurationError
from dray.server.supervisor import plan_brokers
from dray.server.supervisor.messages import (
    Failed,
    Ready,
    read_report,
    read_settings,
    report_line,
    settings_line,
)
from dray.settings import DraySettings, SettingsError, load_settings
from tests.cli.invoking import invoke


def settings(*pairs: str, env: dict[str, str] | None = None) -> DraySettings:
    return load_settings(None, env or {}, {}, pairs).settings


def test_each_broker_gets_the_next_id_and_ports() -> None:
    plans = plan_brokers(settings("broker.id=7", "broker.advertise=kafka.example:19092", "broker.zone=a"), 3)
    assert [(one.broker.id, one.broker.listen, one.broker.advertise, one.broker.http) for one in plans] == [
        (7, "127.0.0.1:9092", "kafka.example:19092", "127.0.0.1:8090"),
        (8, "127.0.0.1:9093", "kafka.example:19093", "127.0.0.1:8091"),
        (9, "127.0.0.1:9094", "kafka.example:19094", "127.0.0.1:8092"),
    ]
    assert {(one.broker.zone, one.metadata, one.log) for one in plans} == {
        ("a", plans[0].metadata, plans[0].log)
    }


def test_every_listener_gets_the_next_port() -> None:
    pairs = ("broker.listen=IN://127.0.0.1:9092,OUT://127.0.0.1:9192", "broker.advertise=OUT://k:443")
    plans = plan_brokers(settings(*pairs, "broker.listener_protocols=IN:PLAINTEXT,OUT:PLAINTEXT"), 2)
    assert [(one.broker.listen, one.broker.advertise) for one in plans] == [
        ("IN://127.0.0.1:9092,OUT://127.0.0.1:9192", "OUT://k:443"),
        ("IN://127.0.0.1:9093,OUT://127.0.0.1:9193", "OUT://k:444"),
    ]


def test_port_zero_stays_port_zero() -> None:
    plans = plan_brokers(settings("broker.listen=[::1]:0", "broker.http=127.0.0.1:0"), 2)
    assert [(one.broker.listen, one.broker.http) for one in plans] == [("[::1]:0", "127.0.0.1:0")] * 2


@pytest.mark.parametrize(
    ("pairs", "count", "expected"),
    [
        (["metadata.url=memory:"], 2, r"^metadata\.url: memory: cannot be shared"),
        (["storage.url=memory:"], 2, r"^storage\.url: memory: cannot be shared"),
        (["metadata.url=memory:", "storage.url=memory:"], 2, r"^metadata\.url and storage\.url: memory:"),
        (["broker.listen=127.0.0.1:65534"], 3, r"^3 brokers: listen 127\.0\.0\.1:65536 has an invalid port"),
        (["broker.http=127.0.0.1:65535"], 2, r"^2 brokers: http 127\.0\.0\.1:65536 has an invalid port"),
        (["broker.advertise=a:65535"], 2, r"^2 brokers: advertise a:65536 has an invalid port"),
        ([f"broker.id={2**31 - 2}"], 3, r"^3 brokers: the highest broker id is 2147483647"),
        (
            [
                "broker.listen=IN://127.0.0.1:9092,OUT://127.0.0.1:9093",
                "broker.listener_protocols=IN:PLAINTEXT,OUT:PLAINTEXT",
            ],
            2,
            r"^2 brokers: port 9093 would be used by two listeners",
        ),
        (["broker.listen=127.0.0.1:8088"], 3, r"^3 brokers: port 8090 would be used both for Kafka and for"),
    ],
)
def test_impossible_combinations_are_refused(pairs: list[str], count: int, expected: str) -> None:
    with pytest.raises(ConfigurationError, match=expected):
        plan_brokers(settings(*pairs), count)


def test_command_reports_the_refusal_in_one_line() -> None:
    result = invoke("up", "--brokers", "2", "--metadata", "memory:")
    assert result.code == 2
    assert result.out == b""
    assert result.err == (
        "dray: metadata.url: memory: cannot be shared by several brokers; "
        "name a store that can be shared, or run one broker with 'dray up'\n"
    )
    for number in ("0", "65", "x"):
        result = invoke("up", "--brokers", number)
        assert (result.code, len(result.err.splitlines())) == (2, 1)


@pytest.mark.parametrize("address", ["127.0.0.1:9092", "[::1]:0", "kafka.example:1"])
def test_addresses_round_trip(address: str) -> None:
    assert str(Address.parse(address)) == address


@pytest.mark.parametrize("address", ["0.0.0.0:9092", "[::]:9092"])
def test_wildcard_address_is_never_advertised(address: str) -> None:
    with pytest.raises(SettingsError, match=r"clients cannot connect to .* set advertise"):
        settings(f"broker.listen={address}")
    with pytest.raises(SettingsError, match=r"clients cannot connect to"):
        settings(f"broker.advertise={address}")
    assert settings(f"broker.listen={address}", "broker.advertise=host:9092").broker.listen == address


def test_settings_line_round_trips_with_secrets() -> None:
    secrets = {
        "DRAY_STORAGE_ACCESS_KEY_ID": "key",
        "DRAY_STORAGE_SECRET_ACCESS_KEY": 'hunter2 "ü"',
        "DRAY_STORAGE_SAS_TOKEN": "token",
        "DRAY_TLS_KEY_PASSWORD": "of the key",
    }
    given = settings("broker.zone=b", "log.linger_ms=7", "storage.url=s3://bucket/prefix", env=secrets)
    arrived = read_settings(settings_line(given))
    assert arrived == given
    assert arrived.storage.secret_access_key is not None
    assert arrived.storage.secret_access_key.reveal() == 'hunter2 "ü"'
    assert arrived.tls.key_password is not None
    assert arrived.tls.key_password.reveal() == "of the key"
    assert settings_line(given).count(b"\n") == 1


def test_incomplete_report_is_ignored() -> None:
    ready, failed = Ready(1, "a:1", "b:2", "c:3"), Failed("two\nlines")
    assert read_report(report_line(ready)) == ready
    assert read_report(report_line(ready) + report_line(failed)) == failed
    assert read_report(b"") is None
    assert read_report(report_line(failed)[:-1]) is None


def test_http_address_with_tls_stays_one_with_tls() -> None:
    pairs = ("broker.http=https://[::1]:8090", "broker.listen=127.0.0.1:0", "tls.certificate_file=/x")
    plans = plan_brokers(settings(*pairs), 2)
    assert [one.broker.http for one in plans] == ["https://[::1]:8090", "https://[::1]:8091"]
