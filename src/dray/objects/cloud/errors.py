"""Errors of obstore as errors of the port.

obstore's exceptions carry little information in their type and nearly all of it in their text: a sentence,
which may contain the server's response, and after "Debug source" the Rust values. The HTTP status and the
error code of the body come from the sentence. Without a response, the request may or may not have been
executed: `Unavailable`. Azure's deletions are batches of one: status and message are those of the part.

The text itself is not passed on: it may contain a signed URL, and is a page long.
"""

import re
from dataclasses import dataclass
from typing import Final

from dray.objects.port import AlreadyExists, NotFound, ObjectError, OutOfRange, StoreUnusable, Unavailable

_STATUS: Final = re.compile(r"status code: (\d{3})")
_CODE: Final = re.compile(r'<Code>([^<]{1,100})</Code>|"reason": ?"([^"]{1,100})"')
_MESSAGE: Final = re.compile(r'<Message>([^<\n]{1,300})|"message": ?"([^"\n]{1,300})"')
_OF_BATCH: Final = re.compile(r": ([^:]{1,300}) \(code: (\d{3})\)")
_CONTAINER: Final = "The specified container "
_KIND: Final = re.compile(r"kind: (Connect|Timeout|Interrupted|Decode|Request)")
_CERTIFICATE: Final = re.compile(r"InvalidCertificate\(\s*(\w+)")
_UNTRUSTED: Final = {
    "UnknownIssuer": "its certificate is not signed by a known authority; set storage.tls_ca_file",
    "Expired": "its certificate has expired; renew it",
    "ExpiredContext": "its certificate has expired; renew it",
    "NotValidForName": "its certificate is for another host name",
    "NotValidForNameContext": "its certificate is for another host name",
}
_NO_CREDENTIALS: Final = "no credentials are set and the metadata service of this machine has none; set a key"
_REDIRECT: Final = "redirect without LOCATION"
_METADATA_HOSTS: Final = ("169.254.169.254", "metadata.google.internal", "169.254.170.2")

_NO_BUCKET: Final = frozenset(
    {"NoSuchBucket", "ContainerNotFound", "ContainerBeingDeleted", "InvalidBucketName"}
)
_WRONG_REGION: Final = frozenset(
    {
        "AuthorizationHeaderMalformed",
        "PermanentRedirect",
        "TemporaryRedirect",
        "IllegalLocationConstraintException",
    }
)
_RETRIABLE: Final = frozenset(
    {
        *(
            "SlowDown",
            "RequestTimeout",
            "InternalError",
            "ServiceUnavailable",
            "ServerBusy",
            "OperationTimedOut",
        ),
        # Two concurrent creations. Possibly neither has succeeded, so this is not "already exists".
        *("ConditionalRequestConflict", "OperationAborted"),
    }
)
_REASONS: Final = {
    "Connect": "no connection",
    "Timeout": "no response in time",
    "Interrupted": "the connection was interrupted",
    "Decode": "the response was truncated",
    "Request": "the request could not be sent",
}


@dataclass(frozen=True, slots=True)
class StoreLocation:
    """The location of a store, for messages."""

    url: str
    endpoint: str

    def __str__(self) -> str:
        return f"{self.url} at {self.endpoint}"


@dataclass(frozen=True, slots=True)
class Response:
    """The response that an error contains; without a status there was none."""

    status: int | None
    code: str
    reason: str

    @classmethod
    def of(cls, error: Exception) -> "Response":
        text, _, debug = str(error).partition("Debug source")
        if part := _OF_BATCH.search(text):
            return cls.of_batch(int(part[2]), part[1])
        status = _STATUS.search(text)
        code = _first(_CODE, text)
        if status is None and _REDIRECT in text:
            return cls(301, "", "the bucket is in another region")
        if status is None:
            return cls(None, "", _no_response(text, debug))
        message = _first(_MESSAGE, text)
        reason = " ".join(part for part in (f"HTTP {status[1]}", code, message and f"({message})") if part)
        return cls(int(status[1]), code, reason)

    @classmethod
    def of_batch(cls, status: int, message: str) -> "Response":
        """Return the response to a part of a batch, which has no error code."""
        code = "ContainerNotFound" if status == 404 and message.startswith(_CONTAINER) else ""
        return cls(status, code, f"HTTP {status} {message}")


def translate(error: Exception, location: StoreLocation, operation: str) -> ObjectError:
    """Translate an error of obstore; `operation` names the operation and its path."""
    response = Response.of(error)
    message = f"{operation} in {location}: {response.reason}"
    if response.status is not None and any(host in str(error) for host in _METADATA_HOSTS):
        return StoreUnusable(f"{operation} in {location}: {_NO_CREDENTIALS}")
    if response.status is None:
        return _without_response(error, message)
    if response.code in _RETRIABLE or response.status in (408, 429) or response.status >= 500:
        return Unavailable(message)
    if response.code in _NO_BUCKET:
        return StoreUnusable(f"{message}; create the bucket or container, or choose another")
    if response.code in _WRONG_REGION or response.status in (301, 307):
        return StoreUnusable(f"{message}; set the region and endpoint of this bucket")
    return _by_status(response, message)


def _by_status(response: Response, message: str) -> ObjectError:
    match response.status:
        case 404:
            return NotFound(message)
        case 409 | 412:
            return AlreadyExists(message)
        case 416:
            return OutOfRange(message)
        case 401 | 403:
            return StoreUnusable(
                f"{message}; check the access key, its permissions, the bucket name and the machine's clock"
            )
    return StoreUnusable(f"{message}; the store refuses this request, check the settings")


def _without_response(error: Exception, message: str) -> ObjectError:
    """Refuse a server whose certificate is not trusted; anything else may pass."""
    found = _CERTIFICATE.search(str(error))
    if found is None:
        return Unavailable(message)
    reason = _UNTRUSTED.get(found[1], f"its certificate is invalid: {found[1]}")
    return StoreUnusable(f"{message}: {reason}")


def _no_response(text: str, debug: str) -> str:
    if any(host in text for host in _METADATA_HOSTS):
        return _NO_CREDENTIALS
    kind = _KIND.search(debug)
    return _REASONS[kind[1]] if kind else text.strip().split("\n", 1)[0][:200].partition("?")[0]


def _first(pattern: "re.Pattern[str]", text: str) -> str:
    found = pattern.search(text)
    return next((group for group in found.groups() if group), "") if found else ""
