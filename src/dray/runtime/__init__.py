"""The one room that owns clock, randomness, task supervision, retry, timers, threads and the interpreter."""

from dray.runtime.byte_budget import ByteBudget
from dray.runtime.clock import Clock, SystemClock
from dray.runtime.durable import sync_directory
from dray.runtime.entropy import Entropy, SeededEntropy, SystemEntropy
from dray.runtime.interpreter import set_up_interpreter
from dray.runtime.lazy_module import LazyModule
from dray.runtime.loop_thread import LoopThread
from dray.runtime.retry import FailedAttempt, RetrySettings, retry
from dray.runtime.side_by_side import side_by_side
from dray.runtime.side_thread import SideThread
from dray.runtime.tasks import OnFailure, SupervisorStopped, Tasks, log_failure
from dray.runtime.threads import Threads, ThreadsStopped
from dray.runtime.timers import Timers

__all__ = [
    "ByteBudget",
    "Clock",
    "Entropy",
    "FailedAttempt",
    "LazyModule",
    "LoopThread",
    "OnFailure",
    "RetrySettings",
    "SeededEntropy",
    "SideThread",
    "SupervisorStopped",
    "SystemClock",
    "SystemEntropy",
    "Tasks",
    "Threads",
    "ThreadsStopped",
    "Timers",
    "log_failure",
    "retry",
    "set_up_interpreter",
    "side_by_side",
    "sync_directory",
]
