"""The members of one group, each a client programme of its own."""

import threading
from typing import Final

from tests.clients.journal import Confirmed, Died, Journal, Processed
from tests.clients.process import ClientBroken, ClientFailed, ClientProcess
from tests.clients.protocol import Committed, Join, Read

LEAVE_S: Final = 20.0


class Member:
    """A programme that reads in the group until it is told to leave, or is killed."""

    def __init__(self, name: str, programme: ClientProcess, request: Join, journal: Journal) -> None:
        self.name = name
        self._programme = programme
        self._journal = journal
        self._killed = False
        self._listener = threading.Thread(target=self._listen, args=(request,), daemon=True)
        self._listener.start()

    def leave(self) -> None:
        """Return when it has left the group."""
        self._programme.leave()
        self._listener.join(LEAVE_S)
        assert not self._listener.is_alive(), f"{self.name} has not left after {LEAVE_S} s"

    def kill(self) -> None:
        """What it had said by then is in the journal before its death is."""
        self._killed = True
        self._programme.kill()
        self._listener.join()
        self._journal.add(Died(self.name))

    def close(self) -> None:
        self._programme.close()
        self._listener.join()

    def _listen(self, request: Join) -> None:
        try:
            for answer in self._programme.join(request):
                self._tell(answer)
        except (ClientBroken, ClientFailed) as failure:
            if not self._killed:
                self._journal.fail(failure)

    def _tell(self, answer: Read | Committed) -> None:
        if isinstance(answer, Read):
            self._journal.add(Processed(self.name, answer.record))
        else:
            for partition, offset in answer.offsets:
                self._journal.add(Confirmed(self.name, (partition, offset)))
