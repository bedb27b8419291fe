"""Credentials of a profile in AWS's configuration files: keys, roles, SSO, and programs that print them.

boto3 reads the files and renews what expires. It renews ten minutes before the end, and obstore asks again
five minutes before the end that it knows. So credentials are declared to end ten minutes after they were
handed over, and one that has expired is never used.
"""

from datetime import timedelta
from typing import TYPE_CHECKING, Final

try:
    import boto3
    from botocore.exceptions import BotoCoreError
    from obstore.auth.boto3 import Boto3CredentialProvider
except ImportError as error:
    raise ImportError("storage.profile needs boto3; install it with: pip install 'dray[aws]'") from error

if TYPE_CHECKING:
    from collections.abc import Callable

    from obstore.store import S3Credential

_HANDED_OUT: Final = timedelta(minutes=10)


def credentials_of(profile: str) -> "Callable[[], S3Credential]":
    """Return what asks for the profile's current credentials; `ValueError` if there are none."""
    try:
        return Boto3CredentialProvider(boto3.Session(profile_name=profile), ttl=_HANDED_OUT)
    except (BotoCoreError, ValueError) as error:
        raise ValueError(f"the AWS profile {profile!r} cannot be used: {error}") from error
