"""What an error of obstore means to a caller of the port.

obstore tells little by type and nearly all by text: a first part for people, which may hold the server's
answer, and behind "Debug source" the Rust values. From the first we take the HTTP status and the error
code of the body. Where there was no answer at all, the request may or may not have got through:
`Unavailable`.

The text itself is not passed on: it may hold a signed URL, and is a page long.
"""

import re
from dataclasses import dataclass
from typing import Final

from dray.objects.port import AlreadyExists, NotFound, ObjectError, OutOfRange, StoreUnusable, Unavailable

_STATUS: Final = re.compile(r"status code: (\d{3})")
_CODE: Final = re.compile(r'<Code>([^<]{1,100})</Code>|"reason": ?"([^"]{1,100})"')
_MESSAGE: Final = re.compile(r'<Message>([^<]{1,300})|"message": ?"([^"]{1,300})"')
_KIND: Final = re.compile(r"kind: (Connect|Timeout|Interrupted|Decode|Request)")
_NO_CREDENTIALS: Final = "no credentials were given and this machine's metadata service gave none; set a key"
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
_TRY_AGAIN: Final = frozenset(
    {
        *(
            "SlowDown",
            "RequestTimeout",
            "InternalError",
            "ServiceUnavailable",
            "ServerBusy",
            "OperationTimedOut",
        ),
        # Two creators met inside the store. Neither need have won, so this is not yet "already exists".
        *("ConditionalRequestConflict", "OperationAborted"),
    }
)
_WORDS: Final = {
    "Connect": "no connection",
    "Timeout": "no answer in time",
    "Interrupted": "the connection broke off",
    "Decode": "the answer broke off",
    "Request": "the request could not be sent",
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a store is, for messages."""

    url: str
    endpoint: str

    def __str__(self) -> str:
        return f"{self.url} at {self.endpoint}"


@dataclass(frozen=True, slots=True)
class Answer:
    """What could be read out of an error; no status means that no answer came."""

    status: int | None
    code: str
    reason: str

    @classmethod
    def of(cls, error: Exception) -> "Answer":
        text, _, debug = str(error).partition("Debug source")
        status = _STATUS.search(text)
        code = _first(_CODE, text)
        if status is None and _REDIRECT in text:
            return cls(301, "", "the answer came from another region")
        if status is None:
            return cls(None, "", _unanswered(text, debug))
        said = _first(_MESSAGE, text)
        reason = " ".join(part for part in (f"HTTP {status[1]}", code, said and f"({said})") if part)
        return cls(int(status[1]), code, reason)


def translate(error: Exception, place: Place, what: str) -> ObjectError:
    """Sort an error of obstore by what the caller must do; `what` names the operation and its path."""
    answer = Answer.of(error)
    told = f"{what} in {place}: {answer.reason}"
    if answer.status is not None and any(host in str(error) for host in _METADATA_HOSTS):
        return StoreUnusable(f"{what} in {place}: {_NO_CREDENTIALS}")
    if answer.status is None or answer.code in _TRY_AGAIN or answer.status in (408, 429):
        return Unavailable(told)
    if answer.status >= 500:
        return Unavailable(told)
    if answer.code in _NO_BUCKET:
        return StoreUnusable(f"{told}; create the bucket or container, or name another")
    if answer.code in _WRONG_REGION or answer.status in (301, 307):
        return StoreUnusable(f"{told}; set the region and endpoint of this bucket")
    return _by_status(answer, told)


def _by_status(answer: Answer, told: str) -> ObjectError:
    match answer.status:
        case 404:
            return NotFound(told)
        case 409 | 412:
            return AlreadyExists(told)
        case 416:
            return OutOfRange(told)
        case 401 | 403:
            return StoreUnusable(
                f"{told}; check the access key, its rights, the bucket's name and this machine's clock"
            )
    return StoreUnusable(f"{told}; the store does not take this request, check its settings")


def _unanswered(text: str, debug: str) -> str:
    if any(host in text for host in _METADATA_HOSTS):
        return _NO_CREDENTIALS
    kind = _KIND.search(debug)
    return _WORDS[kind[1]] if kind else text.strip().split("\n", 1)[0][:200].partition("?")[0]


def _first(pattern: "re.Pattern[str]", text: str) -> str:
    found = pattern.search(text)
    return next((group for group in found.groups() if group), "") if found else ""
