"""The audit log of changes and denials, with their principals, on the logger `dray.audit`.

Every administrative request is one line, with the outcome. Denials, failed logins and topics that could not
be created automatically come from any request, so a client can cause any number of them: of equal ones, only
the first of each interval is logged. What is remembered of them is bounded, in all and for each principal or
address, so that no client keeps those of others out of the log. Their number is logged after the interval.
All texts are cut to a length.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final, Generic, NamedTuple, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from dray.ids import Principal
from dray.observe import get_logger
from dray.runtime import Clock

T = TypeVar("T")
_log = get_logger("audit")
_INTERVAL_S: Final = 60.0
_REMEMBERED_MAX: Final = 10_000
_REMEMBERED_OF_SOURCE_MAX: Final = 500
_TEXT_MAX: Final = 256
_SUBJECTS_MAX: Final = 20


class Caller(Struct, frozen=True):
    """The origin of a request."""

    principal: Principal
    host: str
    client_id: str
    api: str


class _Denial(NamedTuple):
    caller: Caller
    operation: str
    resource: str


class _FailedLogin(NamedTuple):
    host: str
    listener: str
    mechanism: str
    reason: str


class _FailedChange(NamedTuple):
    caller: Caller
    subject: str
    error: str


class AuditLog:
    """Writes the audit log of a broker."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since = clock.monotonic()
        self._denials: _Interval[_Denial] = _Interval()
        self._failed_changes: _Interval[_FailedChange] = _Interval()
        self._failed_logins: _Interval[_FailedLogin] = _Interval()
        """Each by itself: clients that cannot log in must not keep the denials of users out of the log."""

    def changed(self, caller: Caller, subjects: Sequence[str], errors: Sequence[str]) -> None:
        """Log an administrative request, the things it was about, and the error codes of its response."""
        _log.info(
            "change_requested",
            **_fields(caller),
            subjects=[_cut(subject) for subject in subjects[:_SUBJECTS_MAX]],
            subjects_count=len(subjects),
            outcome="ok" if not errors else ",".join(sorted(set(errors))),
        )

    def change_failed(self, caller: Caller, subject: str, error: str) -> None:
        """Log a change that failed and that clients repeat by themselves, as `denied` logs denials."""
        shown = replace(caller, client_id=_cut(caller.client_id))
        failed = _FailedChange(shown, _cut(subject), error)
        self._end_interval_if_over()
        if self._failed_changes.is_new(failed, str(caller.principal)):
            self.changed(shown, [subject], [error])

    def denied(self, caller: Caller, operation: str, resource: str) -> None:
        """Log a denied operation, unless an equal one was logged in this interval."""
        shown = replace(caller, client_id=_cut(caller.client_id))  # a client may choose ids of 32 KiB
        denial = _Denial(shown, operation, _cut(resource))
        self._end_interval_if_over()
        if self._denials.is_new(denial, str(caller.principal)):
            _log.warning("request_denied", **_fields(shown), operation=operation, resource=denial.resource)

    def login_failed(self, host: str, listener: str, mechanism: str, reason: str) -> None:
        """Log a failed authentication, unless an equal one was logged in this interval."""
        failed = _FailedLogin(host, listener, mechanism, _cut(reason))
        self._end_interval_if_over()
        if self._failed_logins.is_new(failed, host):
            _log.warning("authentication_failed", **failed._asdict())

    def _end_interval_if_over(self) -> None:
        if self._clock.monotonic() - self._since < _INTERVAL_S:
            return
        kinds = (self._denials, self._failed_changes, self._failed_logins)
        if not_logged := sum(kind.not_logged for kind in kinds):
            _log.warning("denials_not_logged", count=not_logged)
        self._denials, self._failed_changes, self._failed_logins = _Interval(), _Interval(), _Interval()
        self._since = self._clock.monotonic()


class _Interval(Generic[T]):
    """What was logged of one kind in the current interval."""

    def __init__(self) -> None:
        self._logged: set[T] = set()
        self._of_source: Counter[str] = Counter()
        self.not_logged = 0

    def is_new(self, event: T, source: str) -> bool:
        """Return whether to log an event of a principal or an address; remembers it then, else counts it."""
        is_full = len(self._logged) >= _REMEMBERED_MAX or self._of_source[source] >= _REMEMBERED_OF_SOURCE_MAX
        if is_full or event in self._logged:
            self.not_logged += 1
            return False
        self._logged.add(event)
        self._of_source[source] += 1
        return True


def _fields(caller: Caller) -> dict[str, str]:
    return {
        "principal": _cut(str(caller.principal)),
        "host": caller.host,
        "client_id": _cut(caller.client_id),
        "api": caller.api,
    }


def _cut(text: str) -> str:
    return text if len(text) <= _TEXT_MAX else f"{text[: _TEXT_MAX - 1]}…"
