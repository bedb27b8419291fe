"""Which topic a name stands for."""

import pytest

from dray.pipeline.sql.errors import SqlError
from dray.pipeline.sql.naming import TopicNames


def test_a_topic_goes_by_its_own_name_and_by_that_of_its_table() -> None:
    names = TopicNames(["web.clicks", "orders"])
    assert [names.find(name) for name in ("web.clicks", "web_x2e_clicks", "ORDERS", "absent")] == [
        "web.clicks",
        "web.clicks",
        "orders",
        None,
    ]


def test_a_name_that_is_a_topic_and_another_ones_table_is_refused() -> None:
    names = TopicNames(["web.clicks", "web_x2e_clicks"])
    with pytest.raises(SqlError, match=r'call them web_x5f_x2e_clicks and "web\.clicks"'):
        names.find("web_x2e_clicks")
    assert names.find("web.clicks") == "web.clicks"
    assert names.find("web_x5f_x2e_clicks") == "web_x2e_clicks"


def test_names_that_differ_in_capitals_alone_are_refused() -> None:
    with pytest.raises(SqlError, match="differ in capital letters alone"):
        TopicNames(["Orders", "oRders"]).find("orders")
