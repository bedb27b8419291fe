"""Members of one group, each a separate client program."""

import threading
from typing import Final

from tests.clients.journal import Confirmed, Died, Journal, Processed
from tests.clients.process import ClientBroken, ClientFailed, ClientProcess
from tests.clients.protocol import Committed, Join, Read

LEAVE_S: Final = 20.0


class Member:
    """A program that reads in the group until it is asked to leave, or is killed."""

    def __init__(self, name: str, program: ClientProcess, request: Join, journal: Journal) -> None:
        self.name = name
        self._program = program
        self._journal = journal
        self._killed = False
        self._listener = threading.Thread(target=self._listen, args=(request,), daemon=True)
        self._listener.start()

    def leave(self) -> None:
        """Return when it has left the group."""
        self._program.leave()
        self._listener.join(LEAVE_S)
        assert not self._listener.is_alive(), f"{self.name} has not left after {LEAVE_S} s"

    def kill(self) -> None:
        """Kill it; its reports until then are in the journal before its death."""
        self._killed = True
        self._program.kill()
        self._listener.join()
        self._journal.add(Died(self.name))

    def close(self) -> None:
        self._program.close()
        self._listener.join()

    def _listen(self, request: Join) -> None:
        try:
            for answer in self._program.join(request):
                self._report(answer)
        except (ClientBroken, ClientFailed) as failure:
            if not self._killed:
                self._journal.fail(failure)

    def _report(self, answer: Read | Committed) -> None:
        if isinstance(answer, Read):
            self._journal.add(Processed(self.name, answer.record))
        else:
            for partition, offset in answer.offsets:
                self._journal.add(Confirmed(self.name, (partition, offset)))
