"""Collection of error codes from the responses of all APIs."""

from itertools import count
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest

from dray.api.error_codes import codes_of
from dray.wire import APIS, Api, Message
from dray.wire.apis.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from dray.wire.apis.join_group import JoinGroupResponse
from dray.wire.apis.offset_fetch import OffsetFetchResponse


def filled(message: type[Message], codes: "count[int]", expected: list[int]) -> Message:
    """Return a message with two elements in each list, and another code in each place."""
    values: dict[str, Any] = {}
    for name, hint in get_type_hints(message).items():
        if get_origin(hint) in (Union, UnionType):
            (hint,) = (part for part in get_args(hint) if part is not type(None))  # noqa: PLW2901
        if name == "error_code":
            values[name] = next(codes)
            expected.append(values[name])
        elif get_origin(hint) is list and issubclass(get_args(hint)[0], Message):
            values[name] = [filled(get_args(hint)[0], codes, expected) for _ in range(2)]
        elif isinstance(hint, type) and issubclass(hint, Message):
            values[name] = filled(hint, codes, expected)
    return message(**values)


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)
def test_every_error_code_is_found(api: Api) -> None:
    expected: list[int] = []
    answer = filled(api.response, count(1), expected)
    assert sorted(codes_of(api.response)(answer)) == expected != []
    assert codes_of(api.response)(api.response()) == []


def test_null_lists_have_no_codes() -> None:
    answer = OffsetFetchResponse(error_code=7, groups=[])
    assert codes_of(OffsetFetchResponse)(answer) == [7]
    assert codes_of(JoinGroupResponse)(JoinGroupResponse(error_code=25)) == [25]


def test_records_are_not_visited() -> None:
    class Untouchable(list[Any]):
        def __iter__(self) -> Any:
            raise AssertionError("records were looked at")

    parts = [PartitionData(error_code=code, records=Untouchable()) for code in (0, 3, 0, 1)]
    answer = FetchResponse(responses=[FetchableTopicResponse(partitions=parts)])
    assert codes_of(FetchResponse)(answer) == [3, 1]
