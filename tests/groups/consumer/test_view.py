"""Admin view of consumer groups."""

from dray.groups.consumer import ConsumerMemberDescription, describe
from tests.groups.consumer.builders import Consumer, GroupHarness, a_heartbeat, image, parts


def test_description_of_a_reconciling_group() -> None:
    harness = GroupHarness(image(t=4))
    holder, newcomer = Consumer(harness, "a"), Consumer(harness, "b")
    holder.join("t", instance_id="i", rack_id="r")
    newcomer.join("t", regex="t.*", assignor="range")
    harness.send(a_heartbeat("a", 2, instance_id="i"))
    description = describe(harness.known)
    assert (description.state, description.epoch, description.assignment_epoch, description.assignor) == (
        "Reconciling",
        3,
        3,
        "range",
    )
    assert description.members == (
        ConsumerMemberDescription(
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
        ConsumerMemberDescription(
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
