"""URLs of etcd clusters."""

import pytest

from dray.meta.urls import EtcdUrl, parse_etcd_url


@pytest.mark.parametrize(
    ("text", "addresses", "prefix"),
    [
        ("etcd://127.0.0.1:2379/dray", ("127.0.0.1:2379",), "/dray"),
        ("etcd://a:1,b.example:2,[::1]:3/some/where/", ("a:1", "b.example:2", "[::1]:3"), "/some/where"),
    ],
)
def test_url_names_members_and_prefix(text: str, addresses: tuple[str, ...], prefix: str) -> None:
    assert parse_etcd_url(text) == EtcdUrl(addresses, prefix)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("sqlite:x", "expected etcd://HOST:PORT"),
        ("etcd://a:1", "names no prefix"),
        ("etcd://a:1/", "names no prefix"),
        ("etcd://a:1//x", "names no prefix"),
        ("etcd://a:1/x?y", "names no prefix"),
        ("etcd:///x", "'' in the URL"),
        ("etcd://a/x", "'a' in the URL"),
        ("etcd://a:1,b/x", "'b' in the URL"),
        ("etcd://a:0/x", "'a:0' in the URL"),
        ("etcd://a:65536/x", "'a:65536' in the URL"),
    ],
)
def test_invalid_url_is_refused_with_the_form_expected(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse_etcd_url(text)


def test_credentials_in_a_url_are_refused_and_not_repeated() -> None:
    with pytest.raises(ValueError, match=r"set metadata\.username") as refusal:
        parse_etcd_url("etcd://bob:hunter2@a:1/x")
    assert "hunter2" not in str(refusal.value)
