"""How much of all clients' requests a broker holds, and who may send more when that is too much.

Counted are requests that wait for their answers, and what has come of requests whose end has not. Of the
limit, most is *common*: whoever comes first has it. The rest is kept back and divided evenly among the open
connections, so that each can always have its *share*, whatever the others do. However many there are, each
may have `ALLOWANCE_BYTES`: enough for every request that does not carry records.

So a connection that has nothing here can always send one request that fits in its share. For a larger one
it stands *in line*: the buffer of a request that has begun to come is made, or made longer, only when there
is room, first come first served, and while somebody stands in line nobody else takes of what is common.
Others are only not read; they *stand by* until there is common room again.

Requests that have come whole will be answered, so room will come of them. Half-received ones need not ever
come to their end. When those alone leave no room for the first in line, it is let in beyond the limit, one at
a time. That is the bound: the limit, the allowances, and one request of the largest size.

Plain code, except that those who wait are woken from the event loop: whoever releases something is in the
middle of something else.
"""

import asyncio
from collections.abc import Callable
from typing import Final

ALLOWANCE_BYTES: Final = 16 * 1024
_KEPT_BACK: Final = 4
"""One part in so many is for shares."""
_PLENTY_BYTES: Final = 1 << 20
"""More than anybody takes in one step; one of those who stand by is woken for so much room."""


class Account:
    """What is held of one connection."""

    __slots__ = ("_intake", "_wake", "may_finish", "partial", "requests")

    def __init__(self, intake: "Intake", wake: Callable[[], bool]) -> None:
        self._intake = intake
        self._wake = wake
        self.requests = 0
        self.partial = 0
        self.may_finish = False
        """Whether the request that is being received was let in beyond the limit."""

    @property
    def held(self) -> int:
        return self.requests + self.partial

    @property
    def left(self) -> int:
        """How much more may come of this connection now; nothing if it is not positive."""
        return self._intake.left_for(self)

    def add(self, size: int) -> None:
        """Note requests that have come whole."""
        self.requests += size
        self._intake.held += size

    def release(self, size: int) -> None:
        """Note that a request has been answered."""
        self.requests -= size
        self._intake.held -= size
        if self._intake.strained:
            self._intake.released()

    def hold(self, size: int) -> None:
        """Note how much is held of a request whose end has not come."""
        if size != self.partial:
            change, self.partial = size - self.partial, size
            self.may_finish = self.may_finish and change > 0
            self._intake.held += change
            self._intake.partial += change
            if change < 0 and self._intake.strained:
                self._intake.released()

    def claim(self, size: int) -> bool:
        """Hold that much of a request whose end has not come, if there is room for it."""
        granted = self._intake.grants(self, size - self.partial)
        if granted:
            self._intake.in_line.pop(self, None)
            self.hold(size)
        return granted

    def stand_in_line(self) -> None:
        """Wait for a claim to be granted: `wake` is called until one is."""
        self._intake.in_line.setdefault(self)

    def stand_by(self) -> None:
        """Wait for common room: `wake` is called once."""
        self._intake.standing_by.setdefault(self)

    def wake(self) -> bool:
        return self._wake()

    def close(self) -> None:
        """Give everything back."""
        self.release(self.requests)
        self.hold(0)
        self._intake.forget(self)


class Intake:
    """The books of all connections of a broker."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept_back = limit // _KEPT_BACK
        self._common = limit - self._kept_back
        self._open = 0
        self._overdrawn: Account | None = None
        self._wake_is_due = False
        self.held = 0
        self.partial = 0
        """Of that, requests whose ends have not come."""
        self.in_line: dict[Account, None] = {}
        self.standing_by: dict[Account, None] = {}

    @property
    def strained(self) -> bool:
        """Whether anything is to be done when something is given back."""
        return bool(self.in_line or self.standing_by or self._overdrawn)

    @property
    def waiting(self) -> int:
        """How many connections are not read for want of room."""
        return len(self.in_line) + len(self.standing_by)

    @property
    def pressed(self) -> bool:
        """Whether connections wait because of requests whose ends do not come."""
        return self.waiting > 0 and self.partial >= self._kept_back

    def open(self, wake: Callable[[], bool]) -> Account:
        """Begin an account; `wake` is called when there may be room, and says whether it could go on."""
        self._open += 1
        return Account(self, wake)

    # For accounts only

    def left_for(self, account: Account) -> int:
        common = self._common - self.held
        if self.in_line and next(iter(self.in_line)) is not account:
            common = 0
        if common >= _PLENTY_BYTES:
            return common
        share = min(self._limit - self.held, self._kept_back // max(self._open, 1) - account.held)
        return max(common, share, ALLOWANCE_BYTES - account.held)

    def grants(self, account: Account, more: int) -> bool:
        if more <= self.left_for(account):
            return True
        if self._may_overdraw(account, more):
            self._overdrawn, account.may_finish = account, True
            return True
        return False

    def forget(self, account: Account) -> None:
        self._open -= 1
        self.in_line.pop(account, None)
        self.standing_by.pop(account, None)
        if self._overdrawn is account:
            self._overdrawn = None
        self.released()

    def _may_overdraw(self, account: Account, more: int) -> bool:
        """Whether answering all that has come whole would still leave no room for this one."""
        if self._overdrawn is not None:
            return account.may_finish
        is_first = not self.in_line or next(iter(self.in_line)) is account
        return is_first and self.partial + more > self._common

    def released(self) -> None:
        if self._overdrawn is not None and self._overdrawn.held <= ALLOWANCE_BYTES:
            self._overdrawn = None
        if self.waiting and not self._wake_is_due:
            self._wake_is_due = True
            asyncio.get_running_loop().call_soon(self._wake)

    def _wake(self) -> None:
        self._wake_is_due = False
        while self.in_line:
            first = next(iter(self.in_line))
            if not first.wake():
                return
            self.in_line.pop(first, None)
        self._wake_some()

    def _wake_some(self) -> None:
        """Let some of those who stand by be read, and the others when these have been."""
        room = self._common - self.held
        if not self.standing_by or room <= 0:
            return
        for account in list(self.standing_by)[: 1 + room // _PLENTY_BYTES]:
            del self.standing_by[account]
            account.wake()
        self.released()
