"""Why an address cannot be listened on, in words that say what to do.

An event loop wraps the system's own words in a sentence that names the address once more, each loop in its
own way; the error number is the same in all of them.
"""

import errno
import os
import socket

_REMEDIES = {
    errno.EADDRINUSE: "address already in use; stop what uses it, or choose another address",
    errno.EADDRNOTAVAIL: "it is not an address of this machine; choose one that is, or 0.0.0.0 for all",
    errno.EACCES: "permission denied; choose a port above 1023, or another address",
}


def why_unbound(error: OSError, host: str, port: int, purpose: str = "") -> str:
    """Return one sentence about an address that could not be taken; `purpose` says what it was for."""
    shown = (f"[{host}]:{port}" if ":" in host else f"{host}:{port}") + purpose
    if isinstance(error, socket.gaierror):
        return f"cannot listen on {shown}: the name is not known ({error.strerror}); choose another address"
    reason = _REMEDIES.get(error.errno or 0)
    if reason is None:
        words = os.strerror(error.errno) if error.errno else str(error)
        reason = f"{words}; choose another address"
    return f"cannot listen on {shown}: {reason}"
