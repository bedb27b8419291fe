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


def test_what_there_is_goes_by_the_names_of_topics() -> None:
    topics = ["12-3", "web.clicks", "zebra", "Case.x", "case.X"]
    assert TopicNames(topics).near("nope") == (
        'there are "12-3", _x43_ase_x2e_x, case_x2e__x58_, "web.clicks", zebra'
    )
    assert TopicNames(f"t{number:02}" for number in range(12)).near("nope").endswith("t09 and 2 more")


def test_a_near_name_is_a_topics_however_it_was_meant() -> None:
    names = TopicNames(["web.clicks", "a_x2e_b", "a.b"])
    for meant in ("web.click", "web_x2e_click"):
        assert names.near(meant) == 'did you mean "web.clicks"?'
    assert names.near("a_x5f_x2e_bb").startswith("did you mean a_x5f_x2e_b")
