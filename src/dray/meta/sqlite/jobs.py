"""The queue between the event loop and the writer thread.

A job belongs to the event loop until the writer takes it. Until then it can be withdrawn, and then it has
surely not been done and never will be.
"""

import asyncio
import threading
from collections import deque
from dataclasses import dataclass

from dray.meta.port import Unavailable
from dray.meta.sqlite.requests import Answer, CommitRequest, Request


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """A request and the future its caller waits for."""

    request: Request
    answer: asyncio.Future[Answer]


class JobQueue:
    """Jobs in the order they came."""

    def __init__(self) -> None:
        self._jobs: deque[Job] = deque()
        self._changed = threading.Condition()
        self._closed = False

    def put(self, job: Job) -> None:
        with self._changed:
            if self._closed:
                raise Unavailable("the metadata store is closed")
            self._jobs.append(job)
            self._changed.notify()

    def withdraw(self, job: Job) -> bool:
        """Take a job back; False if the writer has it."""
        with self._changed:
            found = job in self._jobs
            if found:
                self._jobs.remove(job)
            return found

    def wait(self) -> bool:
        """Block until there is a job; False if there will be none any more."""
        with self._changed:
            self._changed.wait_for(lambda: self._jobs or self._closed)
            return bool(self._jobs)

    def take(self, most: int) -> list[Job]:
        """Return the next jobs that can share a transaction: commits in a row, or one of another kind."""
        with self._changed:
            taken: list[Job] = []
            while self._jobs and len(taken) < most:
                is_commit = isinstance(self._jobs[0].request, CommitRequest)
                if taken and not is_commit:
                    break
                taken.append(self._jobs.popleft())
                if not is_commit:
                    break
            return taken

    def close(self) -> list[Job]:
        """Let nothing in any more and return the jobs that nobody has begun."""
        with self._changed:
            self._closed = True
            left = list(self._jobs)
            self._jobs.clear()
            self._changed.notify()
            return left
