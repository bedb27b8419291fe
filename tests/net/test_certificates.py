"""PEM files: mistakes at the start, each with a sentence, and replaced files that cannot be used."""

import asyncio
import os
import ssl
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from dray.net.tls import ClientAuth, TlsContexts, TlsError, TlsOptions
from dray.runtime import SystemClock
from tests.net.authority import DAY, Authority, Issued
from tests.net.tls_serving import capture_logs


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def contexts(issued: Issued, **options: str | None) -> TlsContexts:
    files = {"certificate_file": str(issued.certificate), "key_file": str(issued.key)}
    return TlsContexts(TlsOptions(**(files | options)), [ClientAuth.NONE], SystemClock())  # type: ignore[arg-type]


def usable(target: TlsContexts) -> bool:
    """Return whether a handshake could begin."""
    return target.context(ClientAuth.NONE).get_ca_certs() == [] and target.expires_at_s > 0


def message(issued: Issued, **options: str | None) -> str:
    with pytest.raises(TlsError) as raised:
        contexts(issued, **options)
    return str(raised.value)


def test_missing_file_is_named(authority: Authority) -> None:
    issued = authority.issue("a")
    assert (
        message(issued, key_file="/nowhere/a.key") == "cannot read /nowhere/a.key: No such file or directory"
    )
    shown = message(issued, client_ca_file="/nowhere/ca.pem")
    assert shown == "cannot read /nowhere/ca.pem: No such file or directory"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_unreadable_key_is_named(authority: Authority) -> None:
    issued = authority.issue("a")
    issued.key.chmod(0)
    assert message(issued) == f"cannot read {issued.key}: Permission denied"


def test_key_of_another_certificate_is_refused(authority: Authority) -> None:
    issued, other = authority.issue("a"), authority.issue("b")
    expected = f"the key in {other.key} is not that of the certificate in {issued.certificate}"
    assert message(issued, key_file=str(other.key)) == expected


def test_expired_certificate_is_refused(authority: Authority) -> None:
    issued = authority.issue("a", valid_for=-timedelta(hours=1))
    assert message(issued).startswith(f"the certificate in {issued.certificate} expired at 20")


def test_certificate_that_is_not_valid_yet_is_refused(authority: Authority) -> None:
    class Earlier(SystemClock):
        def now_ms(self) -> int:
            return super().now_ms() - 3 * DAY // timedelta(milliseconds=1)

    issued = authority.issue("a")
    options = TlsOptions(str(issued.certificate), str(issued.key))
    with pytest.raises(TlsError, match="is not valid before 20"):
        TlsContexts(options, [ClientAuth.NONE], Earlier())


def test_encrypted_key_needs_its_password(authority: Authority) -> None:
    issued = authority.issue("a", password="right")
    assert message(issued) == f"the key in {issued.key} is encrypted; set tls.key_password"
    wrong = f"the key in {issued.key} cannot be decrypted with tls.key_password"
    assert message(issued, key_password="wrong") == wrong
    assert usable(contexts(issued, key_password="right"))


def test_password_of_a_key_that_is_not_encrypted_is_ignored(authority: Authority) -> None:
    assert usable(contexts(authority.issue("a"), key_password="unused"))


def test_key_that_every_user_can_read_is_logged_at_each_reading(authority: Authority) -> None:
    issued = authority.issue("a")
    with capture_logs() as lines:
        found = contexts(issued)
        assert not lines
        issued.key.chmod(0o644)
        contexts(issued)
        asyncio.run(found.reload())
        os.utime(issued.key, (1, 1))
        asyncio.run(found.reload())
    events = [(line["event"], line.get("path")) for line in lines]
    exposed = ("secret_file_exposed", str(issued.key))
    assert events == [exposed, exposed, ("tls_reloaded", None)]


def test_certificate_and_key_may_be_in_one_file(authority: Authority) -> None:
    issued = authority.issue("a")
    both = issued.key.with_name("both.pem")
    both.write_bytes(issued.key.read_bytes() + issued.certificate.read_bytes())
    assert usable(contexts(issued, certificate_file=str(both), key_file=str(both)))


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\xfe\xed\xfe\xed\0\0", "a JKS keystore"),
        (b"\x30\x82\x01", "DER or a PKCS12 keystore"),
        (b"x", "not PEM"),
    ],
)
def test_keystores_of_java_are_refused_with_the_way_to_convert_them(
    data: bytes, kind: str, authority: Authority, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    store.write_bytes(data)
    shown = message(authority.issue("a"), certificate_file=str(store))
    assert shown.startswith(f"{store} is {kind}. Dray reads PEM: keytool -importkeystore")


def test_damaged_files_are_named(authority: Authority) -> None:
    issued = authority.issue("a")
    issued.key.write_text("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")
    assert message(issued).startswith(f"{issued.key} contains no private key that can be read: ")
    issued.certificate.write_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    assert message(issued).startswith(f"{issued.certificate} contains no certificate that can be read: ")


def test_unknown_ciphers_are_refused(authority: Authority) -> None:
    assert message(authority.issue("a"), ciphers="NONE-SUCH").startswith(
        "tls.ciphers: OpenSSL has no cipher suite of"
    )


def reload(target: TlsContexts) -> ssl.SSLContext:
    asyncio.run(target.reload())
    return target.context(ClientAuth.NONE)


def test_files_that_cannot_be_used_leave_the_present_ones_in_place(authority: Authority) -> None:
    issued = authority.issue("a")
    target = contexts(issued)
    before, expires = target.context(ClientAuth.NONE), target.expires_at_s
    other = authority.issue("b", valid_for=2 * DAY)
    issued.certificate.write_bytes(other.certificate.read_bytes())  # its key follows
    assert reload(target) is before
    issued.key.write_bytes(other.key.read_bytes())
    assert reload(target) is not before
    assert target.expires_at_s > expires
    issued.certificate.unlink()
    after = target.context(ClientAuth.NONE)
    assert reload(target) is after


def test_files_that_have_not_changed_are_not_read_again(authority: Authority) -> None:
    target = contexts(authority.issue("a"))
    assert target.context(ClientAuth.NONE) is reload(target)


def test_file_that_is_replaced_by_a_link_is_read_again(authority: Authority, tmp_path: Path) -> None:
    """As Kubernetes mounts secrets: all files are links into a folder that is itself a link."""
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    for folder, name in (("one", "a"), ("two", "b")):
        issued = authority.issue(name)
        issued.certificate.rename(tmp_path / folder / "tls.crt")
        issued.key.rename(tmp_path / folder / "tls.key")
    current = tmp_path / "current"
    current.symlink_to("one")
    options = TlsOptions(str(current / "tls.crt"), str(current / "tls.key"))
    target = TlsContexts(options, [ClientAuth.NONE], SystemClock())
    before = target.context(ClientAuth.NONE)
    (tmp_path / "next").symlink_to("two")
    (tmp_path / "next").rename(current)
    assert reload(target) is not before


def test_broker_without_tls_does_not_load_the_package_for_certificates() -> None:
    script = "import sys, dray.server.broker; print('cryptography' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"
