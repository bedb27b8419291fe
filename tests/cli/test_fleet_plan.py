"""Which settings each broker of a fleet gets, which fleets are refused, and how settings are handed over."""

import pytest

from dray.cli.addresses import Address
from dray.cli.failure import WrongUse
from dray.cli.fleet import plan_fleet
from dray.cli.fleet.messages import Failed, Ready, read_report, read_settings, report_line, settings_line
from dray.cli.settings import DraySettings, SettingsError, load_settings
from tests.cli.calling import call


def settings(*pairs: str, env: dict[str, str] | None = None) -> DraySettings:
    return load_settings(None, env or {}, {}, pairs).settings


def test_the_next_broker_has_the_next_id_and_ports() -> None:
    fleet = plan_fleet(settings("broker.id=7", "broker.advertise=kafka.example:19092", "broker.zone=a"), 3)
    assert [(one.broker.id, one.broker.listen, one.broker.advertise, one.broker.http) for one in fleet] == [
        (7, "127.0.0.1:9092", "kafka.example:19092", "127.0.0.1:8090"),
        (8, "127.0.0.1:9093", "kafka.example:19093", "127.0.0.1:8091"),
        (9, "127.0.0.1:9094", "kafka.example:19094", "127.0.0.1:8092"),
    ]
    assert {(one.broker.zone, one.metadata, one.log) for one in fleet} == {
        ("a", fleet[0].metadata, fleet[0].log)
    }


def test_a_free_port_stays_a_free_port() -> None:
    fleet = plan_fleet(settings("broker.listen=[::1]:0", "broker.http=127.0.0.1:0"), 2)
    assert [(one.broker.listen, one.broker.http) for one in fleet] == [("[::1]:0", "127.0.0.1:0")] * 2


@pytest.mark.parametrize(
    ("pairs", "count", "expected"),
    [
        (["metadata.url=memory:"], 2, r"^metadata\.url: memory: cannot be shared"),
        (["storage.url=memory:"], 2, r"^storage\.url: memory: cannot be shared"),
        (["metadata.url=memory:", "storage.url=memory:"], 2, r"^metadata\.url and storage\.url: memory:"),
        (["broker.listen=127.0.0.1:65534"], 3, r"^3 brokers: listen 127\.0\.0\.1:65536 has no port"),
        (["broker.http=127.0.0.1:65535"], 2, r"^2 brokers: http 127\.0\.0\.1:65536 has no port"),
        (["broker.advertise=a:65535"], 2, r"^2 brokers: advertise a:65536 has no port"),
        ([f"broker.id={2**31 - 2}"], 3, r"^3 brokers: there is no broker id behind 2147483647"),
        (["broker.listen=127.0.0.1:8088"], 3, r"^3 brokers: port 8090 would be used both for Kafka and for"),
    ],
)
def test_fleets_that_cannot_be(pairs: list[str], count: int, expected: str) -> None:
    with pytest.raises(WrongUse, match=expected):
        plan_fleet(settings(*pairs), count)


def test_the_command_says_so_in_one_line() -> None:
    called = call("up", "--brokers", "2", "--metadata", "memory:")
    assert called.code == 2
    assert called.out == b""
    assert called.err == (
        "dray: metadata.url: memory: cannot be shared by several brokers; "
        "name a store that can be, or run one broker with 'dray up'\n"
    )
    for number in ("0", "65", "x"):
        called = call("up", "--brokers", number)
        assert (called.code, len(called.err.splitlines())) == (2, 1)


@pytest.mark.parametrize("address", ["127.0.0.1:9092", "[::1]:0", "kafka.example:1"])
def test_addresses_are_split_and_joined(address: str) -> None:
    assert str(Address.parse(address)) == address


@pytest.mark.parametrize("address", ["0.0.0.0:9092", "[::]:9092"])
def test_clients_are_never_told_to_connect_to_everywhere(address: str) -> None:
    with pytest.raises(SettingsError, match=r"clients cannot be told to connect to .* give advertise"):
        settings(f"broker.listen={address}")
    with pytest.raises(SettingsError, match=r"clients cannot be told to connect to"):
        settings(f"broker.advertise={address}")
    assert settings(f"broker.listen={address}", "broker.advertise=host:9092").broker.listen == address


def test_settings_arrive_as_they_were_given() -> None:
    secrets = {
        "DRAY_STORAGE_ACCESS_KEY_ID": "key",
        "DRAY_STORAGE_SECRET_ACCESS_KEY": 'hunter2 "ü"',
        "DRAY_STORAGE_SAS_TOKEN": "token",
    }
    given = settings("broker.zone=b", "log.linger_ms=7", "storage.url=s3://bucket/prefix", env=secrets)
    arrived = read_settings(settings_line(given))
    assert arrived == given
    assert arrived.storage.secret_access_key is not None
    assert arrived.storage.secret_access_key.reveal() == 'hunter2 "ü"'
    assert settings_line(given).count(b"\n") == 1


def test_a_report_counts_when_it_is_whole() -> None:
    ready, failed = Ready("a:1", "b:2", "c:3"), Failed("two\nlines")
    assert read_report(report_line(ready)) == ready
    assert read_report(report_line(ready) + report_line(failed)) == failed
    assert read_report(b"") is None
    assert read_report(report_line(failed)[:-1]) is None
