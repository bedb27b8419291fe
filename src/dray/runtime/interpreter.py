"""How the Python of a process that serves is set up; called once, when everything is imported."""

import gc
import sys

_SWITCH_SECONDS = 0.0005
_COLLECT_AFTER = (20_000, 20, 20)


def set_up_interpreter() -> None:
    """Let threads have the interpreter soon, and let the collector leave alone what never goes.

    A busy event loop otherwise keeps the interpreter for 5 ms at a time, and every thread that comes back
    from the disk with little to do (a commit to tell of, a file to link) waits that long for its turn.

    The collector otherwise goes through all modules and classes again and again, because every batch on its
    way is a handful of new objects. Almost nothing here is in cycles, so looking seldom is enough.
    """
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECT_AFTER)
