"""Groups as admins see them."""

from dray.groups.consumer import ShownConsumer, show
from tests.groups.consumer.builders import Consumer, Desk, a_beat, image, parts


def test_a_group_with_all_there_is_to_see() -> None:
    desk = Desk(image(t=4))
    holder, newcomer = Consumer(desk, "a"), Consumer(desk, "b")
    holder.join("t", instance_id="i", rack_id="r")
    newcomer.join("t", regex="t.*", assignor="range")
    desk.ask(a_beat("a", 2, instance_id="i"))
    shown = show(desk.known)
    assert (shown.state, shown.epoch, shown.assignment_epoch, shown.assignor) == (
        "Reconciling",
        3,
        3,
        "range",
    )
    assert shown.members == (
        ShownConsumer(
            member_id="a",
            instance_id="i",
            rack_id="r",
            epoch=2,
            client_id="client",
            client_host="/10.0.0.1",
            names=("t",),
            regex="",
            assigned=parts(t=[0, 1, 2, 3]),
            target=parts(t=[0, 1]),
            is_classic=False,
        ),
        ShownConsumer(
            member_id="b",
            instance_id=None,
            rack_id=None,
            epoch=3,
            client_id="client",
            client_host="/10.0.0.1",
            names=("t",),
            regex="t.*",
            assigned={},
            target=parts(t=[2, 3]),
            is_classic=False,
        ),
    )
