"""Client quotas: describing, altering, and what is refused."""

import math
from typing import Any

from dray.wire.apis.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    EntryDataRequest,
    OpData,
)
from dray.wire.apis.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)
from tests.oracle.transcripts import ResponseRecorder

EXACT, DEFAULT, ANY = range(3)
USER, CLIENT, IP = "user", "client-id", "ip"
PRODUCED, CONSUMED = "producer_byte_rate", "consumer_byte_rate"
REQUESTS, MUTATIONS = "request_percentage", "controller_mutation_rate"
CONNECTIONS = "connection_creation_rate"
KEYS = (PRODUCED, CONSUMED, REQUESTS, MUTATIONS, CONNECTIONS)
Names = dict[str, str | None]
Component = tuple[str, int, str | None]


def _entry(names: Names, *ops: tuple[str, float | None]) -> EntryDataRequest:
    return EntryDataRequest(
        entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in names.items()],
        ops=[OpData(key=key, value=value or 0.0, remove=value is None) for key, value in ops],
    )


def _alter(
    recorder: ResponseRecorder,
    label: str,
    names: Names,
    *ops: tuple[str, float | None],
    validate_only: bool = False,
) -> None:
    request = AlterClientQuotasRequest(entries=[_entry(names, *ops)], validate_only=validate_only)
    for version in (0, 1):
        recorder.send(request, AlterClientQuotasResponse, version, label)


def _described(components: tuple[Component, ...], strict: bool) -> DescribeClientQuotasRequest:
    return DescribeClientQuotasRequest(
        components=[
            ComponentData(entity_type=kind, match_type=match, match=name) for kind, match, name in components
        ],
        strict=strict,
    )


def _describe(recorder: ResponseRecorder, label: str, *components: Component, strict: bool = False) -> None:
    for version in (0, 1):
        recorder.send(_described(components, strict), DescribeClientQuotasResponse, version, label)


def _found(recorder: ResponseRecorder, *components: Component, strict: bool = False) -> dict[str, Any]:
    """Return the quotas that match, by entity; brokers list them in different orders."""
    request = _described(components, strict)
    response = recorder.client.send(request, DescribeClientQuotasResponse)
    found = {}
    for entry in response.entries or []:
        names = sorted(f"{part.entity_type}={part.entity_name}" for part in entry.entity)
        shown = ",".join(names).replace(f"-{recorder.suffix}", "")
        found[shown] = {one.key: one.value for one in entry.values}
    return found


def await_quota(recorder: ResponseRecorder, names: Names, **limits: float) -> None:
    """Wait for the change to be propagated to Apache Kafka's broker."""
    components = [(kind, DEFAULT if name is None else EXACT, name) for kind, name in names.items()]
    while list(_found(recorder, *components, strict=True).values()) != ([limits] if limits else []):
        pass


def set_quota(recorder: ResponseRecorder, names: Names, **limits: float) -> None:
    """Set quotas without recording it, and wait until they apply."""
    request = AlterClientQuotasRequest(entries=[_entry(names, *limits.items())])
    response = recorder.client.send(request, AlterClientQuotasResponse)
    assert response.entries[0].error_code == 0, response
    await_quota(recorder, names, **limits)


def altering(recorder: ResponseRecorder) -> None:
    user, client = recorder.named("alice/~é %"), recorder.named("app&user=x")
    kinds: list[Names] = [{USER: user}, {CLIENT: client}, {USER: user, CLIENT: client}]
    kinds += [{USER: user, CLIENT: None}, {USER: None, CLIENT: client}]
    for number, names in enumerate(kinds, start=1):
        _alter(recorder, f"set {number}", names, (PRODUCED, 1000.0 * number), (REQUESTS, 12.5))
        await_quota(recorder, names, producer_byte_rate=1000.0 * number, request_percentage=12.5)
    _describe(recorder, "the user alone", (USER, EXACT, user), strict=True)
    _describe(recorder, "the pair", (USER, EXACT, user), (CLIENT, EXACT, client))
    _describe(recorder, "the other order", (CLIENT, EXACT, client), (USER, EXACT, user))
    _describe(recorder, "the default client of the user", (USER, EXACT, user), (CLIENT, DEFAULT, None))
    _describe(recorder, "the client of the default user", (USER, DEFAULT, None), (CLIENT, EXACT, client))
    _describe(recorder, "none of these", (USER, EXACT, user), (CLIENT, EXACT, "other"))
    for strict in (False, True):
        recorder.note(f"all of the user {strict}", **_found(recorder, (USER, EXACT, user), strict=strict))
        of_user = (USER, EXACT, user), (CLIENT, ANY, None)
        recorder.note(f"pairs of the user {strict}", **_found(recorder, *of_user, strict=strict))
        recorder.note(
            f"all of the client {strict}", **_found(recorder, (CLIENT, EXACT, client), strict=strict)
        )
    _alter(recorder, "set another", {USER: user}, (CONSUMED, 7.0), (REQUESTS, None), (CONNECTIONS, None))
    await_quota(recorder, {USER: user}, producer_byte_rate=1000.0, consumer_byte_rate=7.0)
    _describe(recorder, "one key removed", (USER, EXACT, user), strict=True)
    for names in kinds:
        _alter(recorder, "remove", names, *((key, None) for key in KEYS))
        await_quota(recorder, names)
    _describe(recorder, "none left", (USER, EXACT, user))
    _alter(recorder, "nothing", {USER: user})


def altering_several(recorder: ResponseRecorder) -> None:
    first, second = recorder.named("first"), recorder.named("second")
    entries = [
        _entry({USER: first}, (PRODUCED, 1.0)),
        _entry({USER: second}, (PRODUCED, -1.0)),
        _entry({USER: first}, (PRODUCED, 3.0)),
    ]
    for validate_only in (True, False):
        request = AlterClientQuotasRequest(entries=entries, validate_only=validate_only)
        response = recorder.client.send(request, AlterClientQuotasResponse)
        results = {
            str(entry.entity[0].entity_name).replace(f"-{recorder.suffix}", ""): (
                entry.error_code,
                str(entry.error_message).replace(f"-{recorder.suffix}", ""),
            )
            for entry in response.entries
        }
        recorder.note(f"results, validate only {validate_only}", **results)
    await_quota(recorder, {USER: first}, producer_byte_rate=1.0)
    _describe(recorder, "the first is applied", (USER, EXACT, first))
    _describe(recorder, "the other is not", (USER, EXACT, second))
    set_quota(recorder, {USER: first}, producer_byte_rate=2.0)


def validating(recorder: ResponseRecorder) -> None:
    user = recorder.named("valid")
    _alter(recorder, "valid", {USER: user}, *((key, 3.0) for key in KEYS[:4]), validate_only=True)
    _alter(recorder, "an address", {IP: "10.0.0.1"}, (CONNECTIONS, 3.0), validate_only=True)
    _alter(recorder, "an IPv6 address", {IP: "fe80::1"}, (CONNECTIONS, 3.0), validate_only=True)
    _alter(recorder, "defaults", {USER: None, CLIENT: None}, (PRODUCED, 3.0), validate_only=True)
    _alter(recorder, "default address", {IP: None}, (CONNECTIONS, 3.0), validate_only=True)
    _describe(recorder, "nothing was set", (USER, EXACT, user))


def refusing(recorder: ResponseRecorder) -> None:
    user = recorder.named("refused")
    values = (0.0, -1.0, -0.5, 0.5, 1.0000001, 1.00001, 2.0**31 - 1, 2.0**31, 2.0**63, 1e19, math.inf)
    for key in KEYS:
        for value in values:
            _alter(recorder, f"{key} {value}", {USER: user}, (key, value), validate_only=True)
            _alter(recorder, f"of an address: {key} {value}", {IP: None}, (key, value), validate_only=True)
        _alter(recorder, f"{key} twice", {USER: user}, (key, 1.0), (key, 2.0))
    _alter(recorder, "unknown key", {USER: user}, ("nonsense", 1.0))
    _alter(recorder, "unknown key removed", {USER: user}, ("nonsense", None))
    _alter(recorder, "no entity", {}, (PRODUCED, 1.0))
    _alter(recorder, "empty user", {USER: ""}, (PRODUCED, 1.0))
    _alter(recorder, "empty client", {USER: user, CLIENT: ""}, (PRODUCED, 1.0))
    _alter(recorder, "empty address", {IP: ""}, (CONNECTIONS, 1.0))
    _alter(recorder, "unknown type", {"host": user}, (PRODUCED, 1.0))
    _alter(recorder, "an address and a user", {IP: "10.0.0.1", USER: user}, (PRODUCED, 1.0))
    _alter(recorder, "an address and a client", {IP: None, CLIENT: None}, (CONNECTIONS, 1.0))
    _alter(recorder, "no address", {IP: "no address"}, (CONNECTIONS, 1.0))
    _describe(recorder, "nothing was set", (USER, EXACT, user))


def filtering_wrongly(recorder: ResponseRecorder) -> None:
    _describe(recorder, "empty type", ("", EXACT, "a"))
    _describe(recorder, "unknown type", ("host", EXACT, "a"))
    _describe(recorder, "twice", (USER, EXACT, "a"), (USER, ANY, None))
    _describe(recorder, "exact without a name", (USER, EXACT, None))
    _describe(recorder, "default with a name", (USER, DEFAULT, "a"))
    _describe(recorder, "any with a name", (CLIENT, ANY, "a"))
    _describe(recorder, "unknown match type", (USER, 3, None))
    _describe(recorder, "address and user", (IP, ANY, None), (USER, ANY, None))
    _describe(recorder, "user and address", (USER, EXACT, "a"), (IP, DEFAULT, None))
    _describe(recorder, "address and client", (IP, ANY, None), (CLIENT, ANY, None))
    _describe(recorder, "unknown type after an error", (USER, EXACT, None), ("host", EXACT, "a"))


SCENARIOS = (altering, altering_several, validating, refusing, filtering_wrongly)
