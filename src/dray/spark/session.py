"""Spark session and its JVM, for the lifetime of a compactor. Only one at a time per process.

Calls to the JVM block, so they run in threads: some for jobs, one for short queries, which must not wait for
a job. Cancelling a start kills the JVM, and with it whatever its threads wait for.

Warts: pyspark keeps its gateway in class attributes, and takes the JVM's address and the workers' Python only
from the environment. Both are set here while connecting, and the gateway is reset at the end.
"""

import os
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, ParamSpec, TypeVar

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from dray.runtime import Clock, Threads
from dray.spark.java import find_java
from dray.spark.jvm import Address, Jvm, SparkFailed, java_message
from dray.spark.launch import spark_home
from dray.spark.scratch import ScratchFolder
from dray.spark.settings import SparkSettings

P = ParamSpec("P")
T = TypeVar("T")

_POLL_S: Final = 0.05
_STANDALONE: Final = "spark://"
_CONNECT_S: Final = 5.0
_JOBS: Final = 4


class SparkHost:
    """A session, created by `start`; `close` stops the session and the JVM."""

    def __init__(self, session: SparkSession, jvm: Jvm, jobs: Threads, queries: Threads) -> None:
        self.session = session
        self._jvm = jvm
        self._jobs = jobs
        self._queries = queries

    @classmethod
    async def start(cls, settings: SparkSettings, cache: Path, clock: Clock) -> "SparkHost":
        """Start a JVM and a session, in seconds. Raises `JavaMissing`, `SparkMissing`, `SparkFailed`."""
        jobs, queries = Threads("dray-spark", _JOBS), Threads("dray-spark-queries", 1)
        own, jvm = None, None
        try:
            java = await queries.run(find_java, cache, os.environ)
            await queries.run(check_master, settings)
            own = await queries.run(ScratchFolder.make)
            # Not in a thread: a cancellation would orphan the process.
            jvm = Jvm.start(settings, java, home=spark_home(), cache=cache, own=own, given=dict(os.environ))
            while (address := jvm.address()) is None:
                await clock.sleep(_POLL_S)
            session = await queries.run(_connect, address, jvm)
        except BaseException:
            if jvm is not None:
                jvm.kill()
            elif own is not None:
                own.remove()
            await queries.stop()
            _reset_pyspark()
            raise
        return cls(session, jvm, jobs, queries)

    @property
    def pid(self) -> int:
        return self._jvm.pid

    @property
    def master(self) -> str:
        return self._jvm.properties["spark.master"]

    @property
    def lost(self) -> bool:
        """Whether the JVM has exited."""
        return self._jvm.ended

    async def is_usable(self) -> bool:
        """Whether JVM and session are alive; a master may stop the session and leave the JVM."""
        return not self.lost and not await self.query(_is_stopped, self.session)

    def kill(self) -> None:
        """Kill the JVM; its jobs fail. Blocks until it has exited."""
        self._jvm.kill()

    async def run(self, job: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a job in a thread."""
        return await self._jobs.run(job, *args, **kwargs)

    async def query(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a short query in a thread, whether or not jobs are running."""
        return await self._queries.run(call, *args, **kwargs)

    async def close(self) -> None:
        """Stop the session and the JVM; running jobs fail."""
        try:
            await self._queries.run(_stop, self.session, self._jvm)
        finally:
            self._jvm.kill()
            await self._jobs.stop()
            await self._queries.stop()
            _reset_pyspark()


def _connect(address: Address, jvm: Jvm) -> SparkSession:
    variables = {
        "PYSPARK_GATEWAY_PORT": str(address.port),
        "PYSPARK_GATEWAY_SECRET": address.secret,
        "PYSPARK_PYTHON": jvm.python,
    }
    try:
        with _environment(variables):
            gateway = launch_gateway()  # type: ignore[no-untyped-call]
            conf = SparkConf(loadDefaults=False)
            conf.setAll(list(jvm.properties.items()))
            context = SparkContext(gateway=gateway, conf=conf)
            # Accumulators are not used, and their server would print a traceback when the JVM exits.
            context._accumulatorServer.handle_error = _ignore_error  # type: ignore[method-assign,assignment]  # noqa: SLF001
            return SparkSession(context)
    except (Py4JError, OSError) as error:
        what = f"Spark did not start with spark.master={jvm.properties['spark.master']}"
        if isinstance(error, Py4JJavaError) and (cause := java_message(str(error))):
            raise SparkFailed(f"{what}: {cause}") from error
        first = str(error).strip().splitlines()[0]
        raise SparkFailed(jvm.explain(f"{what}: {first}")) from error


def _ignore_error(*_: object) -> None: ...


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _is_stopped(session: SparkSession) -> bool:
    try:
        return bool(session.sparkContext._jsc.sc().isStopped())  # noqa: SLF001 - pyspark has no other way
    except (Py4JError, OSError):
        return True


def _stop(session: SparkSession, jvm: Jvm) -> None:
    gateway = session.sparkContext._gateway  # noqa: SLF001 - pyspark has no other way to end its JVM
    try:
        session.stop()
    except (Py4JError, OSError):
        pass  # the JVM has already exited
    finally:
        if gateway is not None:
            gateway.shutdown()
        jvm.end()


def _reset_pyspark() -> None:
    """Reset pyspark, so that the next session of this process starts its own JVM."""
    SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001 - as above
    SparkContext._active_spark_context = None  # noqa: SLF001 - as above


def check_master(settings: SparkSettings) -> None:
    """Raise `SparkFailed` if no master of a standalone cluster accepts connections. Blocks.

    Spark itself retries for a minute before it fails, and does not say where it tried.
    """
    master = settings.properties.get("spark.master", settings.master)
    if not master.startswith(_STANDALONE):
        return
    failures = []
    for place in master.removeprefix(_STANDALONE).split(","):
        host, _, port = place.strip().rpartition(":")
        if not host or not port.isdecimal():
            return  # Spark reports what is wrong with it
        try:
            socket.create_connection((host.strip("[]"), int(port)), _CONNECT_S).close()
        except (OSError, OverflowError, UnicodeError) as error:  # the last two: no port, no name
            failures.append(f"{place.strip()}: {error}")
        else:
            return
    raise SparkFailed(f"cannot reach Spark master ({'; '.join(failures)}); start it, or change spark.master")
