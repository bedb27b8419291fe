"""Sources of S3's credentials: settings, the environment, the machine; and their renewal."""

import json
import ssl
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest

from dray.objects.cloud import S3Settings, aws_profile, open_s3
from dray.objects.port import StoreUnusable
from dray.objects.url import StorageUrl
from dray.runtime import SystemClock
from tests.meta.certificates import Authority
from tests.objects.aws_identity import CONTAINER, ROLE, AwsServer, parameter, serve_aws


@pytest.fixture(autouse=True)
def no_identity(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Hide the identity of the machine that runs the tests."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))


@pytest.fixture
async def aws() -> AsyncIterator[AwsServer]:
    async with serve_aws() as server:
        yield server


def settings_at(aws: AwsServer) -> S3Settings:
    return S3Settings(endpoint=aws.endpoint, region="us-east-1", allow_http=True)


@asynccontextmanager
async def putting(settings: S3Settings) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """Provide a function that puts another object."""
    store, numbers = open_s3(StorageUrl("s3", "bucket", ""), settings, SystemClock()), count()
    try:
        yield lambda: store.put_new(f"{next(numbers)}", [b"1"])
    finally:
        await store.close()


async def put_twice(settings: S3Settings) -> None:
    async with putting(settings) as put:
        await put()
        await put()


async def test_session_token_of_the_settings_is_sent(aws: AwsServer) -> None:
    await put_twice(replace(settings_at(aws), access_key="KEY", secret_key="s", session_token="temporary"))
    assert aws.signed_by() == [("KEY", "temporary")] * 2
    assert aws.asked == []


async def test_session_token_of_the_environment_is_sent(
    aws: AwsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "KEY")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "temporary")
    await put_twice(settings_at(aws))
    assert aws.signed_by() == [("KEY", "temporary")] * 2


class TestInstanceRole:
    @pytest.fixture(autouse=True)
    def on_an_instance(self, aws: AwsServer, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("AWS_METADATA_ENDPOINT", aws.endpoint)

    async def test_credentials_are_requested_once(self, aws: AwsServer) -> None:
        await put_twice(settings_at(aws))
        assert aws.signed_by() == [("KEY-1", "token-1")] * 2
        assert [one.target for one in aws.asked] == [ROLE, f"{ROLE}broker"]
        assert {one.headers["x-aws-ec2-metadata-token"] for one in aws.asked} == {"session-of-the-instance"}

    async def test_credentials_about_to_expire_are_renewed(self, aws: AwsServer) -> None:
        aws.lifetime_s = 60
        async with putting(settings_at(aws)) as put:
            while aws.issued < 2:  # obstore asks again when 100 ms have passed
                await put()
        assert (aws.signed_by()[0], aws.signed_by()[-1]) == (("KEY-1", "token-1"), ("KEY-2", "token-2"))

    async def test_keys_of_the_settings_come_first(self, aws: AwsServer) -> None:
        await put_twice(replace(settings_at(aws), access_key="KEY", secret_key="s"))
        assert aws.signed_by() == [("KEY", None)] * 2


@pytest.mark.real("openssl")
class TestWebIdentity:
    """STS has to speak TLS, so here everything does."""

    @pytest.fixture
    def authority(self, tmp_path: Path) -> Authority:
        return Authority(tmp_path / "certificates", "ours")

    @pytest.fixture
    async def aws(self, authority: Authority) -> AsyncIterator[AwsServer]:
        issued = authority.issue("server")
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(issued.certificate, issued.key)
        async with serve_aws(tls) as server:
            yield server

    @pytest.fixture
    def settings(
        self, aws: AwsServer, authority: Authority, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> S3Settings:
        """Settings without keys, in an environment as Kubernetes makes it for a service account."""
        (tmp_path / "token").write_text("signed-by-the-cluster")
        monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(tmp_path / "token"))
        monkeypatch.setenv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/dray")
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", aws.endpoint)
        return replace(settings_at(aws), authorities=str(authority.certificate))

    async def test_token_is_exchanged_for_credentials(self, aws: AwsServer, settings: S3Settings) -> None:
        await put_twice(settings)
        assert aws.signed_by() == [("KEY-1", "token-1")] * 2
        [asked] = aws.asked
        assert parameter(asked, "WebIdentityToken") == "signed-by-the-cluster"
        assert parameter(asked, "RoleArn") == "arn:aws:iam::123456789012:role/dray"

    async def test_credentials_about_to_expire_are_renewed_with_the_current_token(
        self, aws: AwsServer, settings: S3Settings, tmp_path: Path
    ) -> None:
        aws.lifetime_s = 60
        async with putting(settings) as put:
            await put()
            (tmp_path / "token").write_text("rotated")
            while aws.issued < 2:
                await put()
        assert (aws.signed_by()[0], aws.signed_by()[-1]) == (("KEY-1", "token-1"), ("KEY-2", "token-2"))
        assert [parameter(one, "WebIdentityToken") for one in aws.asked] == [
            "signed-by-the-cluster",
            "rotated",
        ]


async def test_credentials_of_the_container_are_used(
    aws: AwsServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text("signed-by-eks")
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{aws.endpoint}{CONTAINER}/task")
    monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", str(tmp_path / "token"))
    await put_twice(settings_at(aws))
    assert aws.signed_by() == [("KEY-1", "token-1")] * 2
    [asked] = aws.asked
    assert asked.headers["authorization"] == "signed-by-eks"


class TestProfile:
    async def test_keys_of_the_profile_are_used(self, aws: AwsServer, tmp_path: Path) -> None:
        (tmp_path / "credentials").write_text(
            "[default]\naws_access_key_id=OTHER\naws_secret_access_key=x\n"
            "[dray]\naws_access_key_id=KEY\naws_secret_access_key=x\naws_session_token=temporary\n"
        )
        await put_twice(replace(settings_at(aws), profile="dray"))
        assert aws.signed_by() == [("KEY", "temporary")] * 2

    async def test_program_that_prints_credentials_is_run(self, aws: AwsServer, tmp_path: Path) -> None:
        printed = tmp_path / "printed.json"
        printed.write_text('{"Version": 1, "AccessKeyId": "PRINTED", "SecretAccessKey": "x"}')
        (tmp_path / "config").write_text(f"[profile dray]\ncredential_process = cat {printed}\n")
        await put_twice(replace(settings_at(aws), profile="dray"))
        assert aws.signed_by() == [("PRINTED", None)] * 2

    async def test_credentials_about_to_expire_are_renewed(
        self, aws: AwsServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(aws_profile, "_HANDED_OUT", timedelta(seconds=60))
        printed = tmp_path / "printed.json"
        (tmp_path / "config").write_text(f"[profile dray]\ncredential_process = cat {printed}\n")
        end = (datetime.now(UTC) + timedelta(seconds=60)).isoformat()
        keys = {"Version": 1, "SecretAccessKey": "x", "SessionToken": "t", "Expiration": end}
        printed.write_text(json.dumps({**keys, "AccessKeyId": "FIRST"}))
        async with putting(replace(settings_at(aws), profile="dray")) as put:
            await put()
            printed.write_text(json.dumps({**keys, "AccessKeyId": "SECOND"}))
            while aws.signed_by()[-1][0] == "FIRST":
                await put()
        assert aws.signed_by()[-1] == ("SECOND", "t")

    def test_missing_profile_is_reported(self, aws: AwsServer) -> None:
        with pytest.raises(StoreUnusable, match=r"s3://bucket .*AWS profile 'dray' cannot be used: .*dray"):
            open_s3(StorageUrl("s3", "bucket", ""), replace(settings_at(aws), profile="dray"), SystemClock())

    def test_profile_without_boto3_is_reported(self, aws: AwsServer, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "boto3", None)
        monkeypatch.delitem(sys.modules, "dray.objects.cloud.aws_profile", raising=False)
        with pytest.raises(StoreUnusable, match=r"storage\.profile needs boto3.*pip install 'dray\[aws\]'"):
            open_s3(StorageUrl("s3", "bucket", ""), replace(settings_at(aws), profile="dray"), SystemClock())
