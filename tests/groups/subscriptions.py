"""Encoder of embedded subscriptions. Brokers only decode them, so the product has none."""

from struct import pack

from dray.groups.embedded import Subscription


def encode_subscription(subscription: Subscription, version: int) -> bytes:
    parts = [pack(">hi", version, len(subscription.topics)), *map(_string, subscription.topics)]
    user_data = subscription.user_data
    parts.append(pack(">i", -1) if user_data is None else pack(">i", len(user_data)) + user_data)
    if version >= 1:
        owned = subscription.owned or {}
        parts.append(pack(">i", len(owned)))
        for topic, numbers in owned.items():
            parts += (_string(topic), pack(f">i{len(numbers)}i", len(numbers), *numbers))
    if version >= 2:
        parts.append(pack(">i", subscription.generation))
    if version >= 3:
        parts.append(pack(">h", -1) if subscription.rack_id is None else _string(subscription.rack_id))
    return b"".join(parts)


def _string(text: str) -> bytes:
    data = text.encode()
    return pack(">h", len(data)) + data
