"""Creating, describing and deleting ACLs: with an authorizer, and without one.

Scenarios with an authorizer need a broker without other ACLs.
"""

from typing import Any

from msgspec.structs import astuple, replace

from dray.wire.apis.create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from dray.wire.apis.delete_acls import DeleteAclsFilter, DeleteAclsRequest, DeleteAclsResponse
from dray.wire.apis.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from tests.oracle.transcripts import ResponseRecorder

TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID, TOKEN, USER = range(2, 8)
ANY, MATCH, LITERAL, PREFIXED = range(1, 5)
DENY, ALLOW = 2, 3
ALL, READ, WRITE, CREATE = range(2, 6)
VERSIONS = (1, 2, 3)


def _acl(name: str, **fields: Any) -> AclCreation:
    acl = AclCreation(
        resource_type=TOPIC,
        resource_name=name,
        resource_pattern_type=LITERAL,
        principal="User:a",
        host="*",
        operation=READ,
        permission_type=ALLOW,
    )
    return replace(acl, **fields)


def _filter(**fields: Any) -> dict[str, Any]:
    return {
        "resource_type_filter": ANY,
        "resource_name_filter": None,
        "pattern_type_filter": ANY,
        "principal_filter": None,
        "host_filter": None,
        "operation": ANY,
        "permission_type": ANY,
    } | fields


def _create(recorder: ResponseRecorder, label: str, *acls: AclCreation, version: int = 3) -> None:
    recorder.send(CreateAclsRequest(creations=list(acls)), CreateAclsResponse, version, label)


def _describe(recorder: ResponseRecorder, label: str, version: int = 3, **fields: Any) -> None:
    request = DescribeAclsRequest(**_filter(**fields))
    recorder.send(request, DescribeAclsResponse, version, label, ordered=_sorted_resources)


def _delete(recorder: ResponseRecorder, label: str, *filters: dict[str, Any], version: int = 3) -> None:
    request = DeleteAclsRequest(filters=[DeleteAclsFilter(**one) for one in filters])
    recorder.send(request, DeleteAclsResponse, version, label, ordered=_sorted_matches)


def _sorted_resources(response: DescribeAclsResponse) -> DescribeAclsResponse:
    resources = [replace(one, acls=sorted(one.acls, key=astuple)) for one in response.resources]
    return replace(response, resources=sorted(resources, key=lambda one: astuple(one)[:3]))


def _sorted_matches(response: DeleteAclsResponse) -> DeleteAclsResponse:
    results = [
        replace(one, matching_acls=sorted(one.matching_acls, key=lambda acl: str(astuple(acl))))
        for one in response.filter_results
    ]
    return replace(response, filter_results=results)


def _await(recorder: ResponseRecorder, name: str, acls: int) -> None:
    """Wait for a change to be propagated to Apache Kafka's brokers."""
    request = DescribeAclsRequest(**_filter(resource_name_filter=name))
    while True:
        response = recorder.client.send(request, DescribeAclsResponse)
        assert not response.error_code, response
        if sum(len(one.acls) for one in response.resources) == acls:
            return


def creating(recorder: ResponseRecorder) -> None:
    name, other = recorder.named("created"), recorder.named("other")
    for version in VERSIONS:
        _create(recorder, "the same again", _acl(name), version=version)
    _create(recorder, "twice in a request", _acl(other), _acl(other))
    _create(recorder, "denied too", _acl(name, permission_type=DENY), _acl(name, operation=ALL))
    _create(recorder, "nothing")
    _await(recorder, name, 3)
    for version in VERSIONS:
        _describe(recorder, "by name", version, resource_name_filter=name)
    _describe(recorder, "twice", resource_name_filter=other)


def accepted(recorder: ResponseRecorder) -> None:
    """What looks wrong, but is not checked by Kafka."""
    name = recorder.named("strange")
    strange = (
        _acl(name, operation=9),
        _acl(name, operation=15),
        _acl(name, principal=":"),
        _acl(name, principal="User:"),
        _acl(name, principal=":a"),
        _acl(name, principal="user:a:b"),
        _acl(name, host=""),
        _acl(name, host="no host"),
        _acl(name, host="10.0.0.0/8"),
        _acl(f"*{name} /é", resource_pattern_type=PREFIXED),
        _acl(name, resource_type=GROUP, operation=WRITE),
        _acl(name, resource_type=TOKEN),
        _acl(name, resource_type=USER, operation=13),
        _acl(name * 20),
    )
    for version in VERSIONS:
        _create(recorder, "strange ones", *strange, version=version)
    of_cluster = _acl("kafka-cluster", resource_type=CLUSTER, principal=recorder.named("User:u"))
    _create(recorder, "cluster", of_cluster, replace(of_cluster, resource_pattern_type=PREFIXED))
    _await(recorder, name, 12)
    _describe(recorder, "strange ones", resource_name_filter=name)
    for kind in (TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID, TOKEN, USER):
        _describe(recorder, f"type {kind}", resource_type_filter=kind, principal_filter=of_cluster.principal)
    _describe(recorder, "long name", resource_name_filter=name * 20)


def refusing(recorder: ResponseRecorder) -> None:
    good = _acl(recorder.named("good"))
    for number in (0, 1, 2, 99, -3):
        for name in ("resource_type", "resource_pattern_type", "operation", "permission_type"):
            if replace(good, **{name: number}) != good:
                _create(recorder, f"{name} {number}", replace(good, **{name: number}), good)
    wrong: dict[str, dict[str, Any]] = {
        "no name": {"resource_name": ""},
        "no prefix": {"resource_name": "", "resource_pattern_type": PREFIXED},
        "cluster of another name": {"resource_type": CLUSTER},
        "any cluster": {"resource_type": CLUSTER, "resource_name": "*"},
        "cluster without name": {"resource_type": CLUSTER, "resource_name": ""},
        "no principal": {"principal": ""},
        "principal without type": {"principal": "alice"},
        "no name, no principal": {"resource_name": "", "principal": ""},
        "no name, unknown type": {"resource_name": "", "resource_type": 99},
        "all unknown": {
            "resource_type": 99,
            "resource_pattern_type": 99,
            "operation": 99,
            "permission_type": 99,
            "principal": "",
        },
        "all but type": {
            "resource_pattern_type": 99,
            "operation": 99,
            "permission_type": 99,
            "principal": "",
        },
        "operation and permission": {"operation": 99, "permission_type": 99, "principal": ""},
        "permission and principal": {"permission_type": 99, "principal": ""},
    }
    for label, fields in wrong.items():
        for version in VERSIONS:
            _create(recorder, label, replace(good, **fields), good, version=version)
    many = [_acl(recorder.named(f"many-{number}")) for number in range(10_001)]
    _create(recorder, "too many", *many)
    _describe(recorder, "none of them", resource_name_filter=many[0].resource_name)


def filtering(recorder: ResponseRecorder) -> None:
    user = recorder.named("User:u")
    ab, a = "ab", "a"
    acls = (
        _acl(ab, principal=user),
        _acl("*", principal=user, host="10.0.0.1"),
        _acl(a, principal=user, resource_pattern_type=PREFIXED, permission_type=DENY),
        _acl(ab, principal=user, resource_pattern_type=PREFIXED, operation=ALL),
        _acl(f"{ab}c", principal=user, resource_pattern_type=PREFIXED),
        _acl(ab, principal=user, resource_type=GROUP),
        _acl("*", principal=user, resource_type=TRANSACTIONAL_ID, operation=WRITE),
        _acl(ab, principal="User:*"),
    )
    _create(recorder, "all kinds", *acls)
    _await(recorder, ab, 4)
    for pattern_type in (ANY, MATCH, LITERAL, PREFIXED):
        for name in (None, ab, a, f"{ab}cd", "*", "", "nothing"):
            for kind in (ANY, TOPIC):
                label = f"pattern {pattern_type}, type {kind}, name {name}"
                fields: dict[str, Any] = {"pattern_type_filter": pattern_type, "resource_type_filter": kind}
                _describe(recorder, label, resource_name_filter=name, principal_filter=user, **fields)
    others: dict[str, dict[str, Any]] = {
        "all users": {"principal_filter": "User:*", "resource_name_filter": ab},
        "no principal": {"principal_filter": ""},
        "no colon": {"principal_filter": "a"},
        "host": {"host_filter": "10.0.0.1", "principal_filter": user},
        "any host": {"host_filter": "*", "principal_filter": user},
        "no host": {"host_filter": "", "principal_filter": user},
        "read": {"operation": READ, "principal_filter": user},
        "all": {"operation": ALL, "principal_filter": user},
        "deny": {"permission_type": DENY, "principal_filter": user},
        "allow": {"permission_type": ALLOW, "principal_filter": user},
    }
    for label, selected in others.items():
        for version in VERSIONS:
            _describe(recorder, label, version, **selected)
    _delete(
        recorder, "what matches", _filter(resource_name_filter=ab, pattern_type_filter=MATCH, host_filter="*")
    )
    _await(recorder, ab, 0)
    _describe(recorder, "what is left", principal_filter=user)
    _delete(recorder, "the rest", _filter(principal_filter=user))
    _await(recorder, "*", 0)


def deleting(recorder: ResponseRecorder) -> None:
    one, two = recorder.named("one"), recorder.named("two")
    acls = (_acl(one), _acl(one, principal="User:b"), _acl(two), _acl(two, resource_type=GROUP))
    for version in VERSIONS:
        _create(recorder, "to delete", *acls)
        _await(recorder, one, 2)
        _await(recorder, two, 2)
        _delete(
            recorder,
            "overlapping",
            _filter(resource_name_filter=one, principal_filter="User:a"),
            _filter(resource_name_filter=one),
            _filter(resource_name_filter=one),
            _filter(resource_name_filter="nothing"),
            _filter(resource_name_filter=two, resource_type_filter=TOPIC),
            version=version,
        )
        _await(recorder, one, 0)
        _describe(recorder, "one is left", resource_name_filter=two)
        _delete(recorder, "the other", _filter(resource_name_filter=two), version=version)
        _await(recorder, two, 0)
    _delete(recorder, "nothing")


def unknown_in_filters(recorder: ResponseRecorder) -> None:
    nothing = _filter(resource_name_filter=recorder.named("nothing"))
    for number in (0, 99, -3):
        for name in ("resource_type_filter", "pattern_type_filter", "operation", "permission_type"):
            wrong = nothing | {name: number}
            _describe(recorder, f"{name} {number}", **wrong)
            _delete(recorder, f"{name} {number}", wrong, nothing)
    unknown = {"resource_type_filter": 99, "operation": 99}
    _delete(recorder, "both parts", nothing | unknown)
    _delete(recorder, "match for a resource", nothing | {"pattern_type_filter": MATCH})


def without_authorizer(recorder: ResponseRecorder) -> None:
    good = _acl(recorder.named("t"))
    for version in VERSIONS:
        _create(recorder, "two", good, replace(good, resource_name=""), version=version)
        _create(recorder, "nothing", version=version)
        _describe(recorder, "all", version)
        _delete(recorder, "all", _filter(), _filter(operation=99), version=version)
        _delete(recorder, "nothing", version=version)
    _create(recorder, "zero", replace(good, operation=0))
    _create(recorder, "any", replace(good, operation=ANY), good)
    _describe(recorder, "zero", operation=0)
    _describe(recorder, "unknown", operation=99)
    _delete(recorder, "zero", _filter(operation=0))


SCENARIOS = (without_authorizer,)
WITH_AUTHORIZER = (creating, accepted, refusing, filtering, deleting, unknown_in_filters)
