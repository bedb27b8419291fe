"""What can be chosen about connections."""

from typing import Annotated

from msgspec import Meta, Struct

_MIB = 1 << 20


class NetSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits of connections."""

    request_bytes_max: Annotated[
        int, Meta(ge=1024, description="The largest request that is read; a larger one ends its connection.")
    ] = 100 * _MIB
    in_flight_bytes_max: Annotated[
        int,
        Meta(
            ge=1024,
            description="Bytes of one connection's requests that may wait for their answers; "
            "when reached, it is not read.",
        ),
    ] = 64 * _MIB
    broker_in_flight_bytes_max: Annotated[
        int,
        Meta(
            ge=1024,
            description="Bytes of all connections' requests that may wait for their answers or have come in "
            "part; when reached, connections are read in turn. Besides it each may have 16 KiB, and one at a "
            "time a larger request.",
        ),
    ] = 512 * _MIB
    in_flight_requests_max: Annotated[
        int, Meta(ge=1, description="Requests of one connection that may wait for their answers.")
    ] = 256
    connections_max: Annotated[
        int, Meta(ge=1, description="Connections at a time; further ones are closed at once.")
    ] = 10_000
    idle_ms: Annotated[
        int,
        Meta(ge=1000, description="Close a connection on which nothing was asked or answered for this long."),
    ] = 600_000
    drain_ms: Annotated[
        int, Meta(ge=0, description="How long a stopping broker waits for answers that are still to be sent.")
    ] = 10_000
