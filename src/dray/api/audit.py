"""The audit log: who changed what, and who was denied what, on the logger `dray.audit`.

Every administrative request is one line, with the outcome. Denials come from any request, so a client can
cause any number of them: of equal ones, only the first of each interval is logged, with the number of those
before it, and what is remembered of them is bounded. All texts are cut to a length.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, TypeVar

from dray.ids import Principal
from dray.observe import get_logger
from dray.runtime import Clock

T = TypeVar("T")
_log = get_logger("audit")
_INTERVAL_S: Final = 60.0
_REMEMBERED_MAX: Final = 10_000
_TEXT_MAX: Final = 256
_SUBJECTS_MAX: Final = 20


class Caller(NamedTuple):
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


class AuditLog:
    """Writes the audit log of a broker."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since = clock.monotonic()
        self._denials: dict[_Denial, int] = {}
        """Those of the current interval, and how often."""
        self._failed_logins: dict[_FailedLogin, int] = {}
        """Apart from denials: clients that cannot log in must not keep those of users out of the log."""
        self._suppressed = 0

    def changed(self, caller: Caller, subjects: Sequence[str], errors: Sequence[str]) -> None:
        """Log an administrative request, the things it was about, and the error codes of its response."""
        _log.info(
            "change_requested",
            **_fields(caller),
            subjects=[_cut(subject) for subject in subjects[:_SUBJECTS_MAX]],
            subjects_count=len(subjects),
            outcome="ok" if not errors else ",".join(sorted(set(errors))),
        )

    def denied(self, caller: Caller, operation: str, resource: str) -> None:
        """Log a denied operation, unless an equal one was logged in this interval."""
        shown = caller._replace(client_id=_cut(caller.client_id))  # a client may choose ids of 32 KiB
        denial = _Denial(shown, operation, _cut(resource))
        if self._is_new(denial, self._denials):
            _log.warning("request_denied", **_fields(shown), operation=operation, resource=denial.resource)

    def login_failed(self, host: str, listener: str, mechanism: str, reason: str) -> None:
        """Log a failed authentication, unless an equal one was logged in this interval."""
        failed = _FailedLogin(host, listener, mechanism, _cut(reason))
        if self._is_new(failed, self._failed_logins):
            _log.warning("authentication_failed", **failed._asdict())

    def _is_new(self, one: T, known: dict[T, int]) -> bool:
        """Count a denial or failure; returns whether it is the first of its kind in this interval."""
        if self._clock.monotonic() - self._since >= _INTERVAL_S:
            self._end_interval()
        times = known.get(one, 0)
        if times == 0 and len(known) >= _REMEMBERED_MAX:
            self._suppressed += 1
            return False
        known[one] = times + 1
        return times == 0

    def _end_interval(self) -> None:
        times = [*self._denials.values(), *self._failed_logins.values()]
        repeated = sum(times) - len(times) + self._suppressed
        if repeated:
            _log.warning("denials_not_logged", count=repeated)
        self._denials.clear()
        self._failed_logins.clear()
        self._suppressed = 0
        self._since = self._clock.monotonic()


def _fields(caller: Caller) -> dict[str, str]:
    return {
        "principal": _cut(str(caller.principal)),
        "host": caller.host,
        "client_id": _cut(caller.client_id),
        "api": caller.api,
    }


def _cut(text: str) -> str:
    return text if len(text) <= _TEXT_MAX else f"{text[: _TEXT_MAX - 1]}…"
