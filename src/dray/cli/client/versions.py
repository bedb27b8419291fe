"""Which version of an API to speak: the highest that both sides know. Pure."""

from collections.abc import Iterable, Mapping

from dray.cli.client.errors import NotServed
from dray.wire import Api
from dray.wire.apis.api_versions import ApiVersion


class Versions:
    """What one broker serves, as it told."""

    def __init__(self, served: Iterable[ApiVersion]) -> None:
        self._served: Mapping[int, ApiVersion] = {one.api_key: one for one in served}

    def best(self, api: Api) -> int:
        """Return the highest common version; `NotServed` if there is none."""
        served = self._served.get(api.key)
        if served is None:
            raise NotServed(f"the broker does not serve {api.name}")
        highest = min(served.max_version, api.highest)
        if highest < max(served.min_version, api.lowest):
            raise NotServed(
                f"the broker serves {api.name} in versions {served.min_version} to {served.max_version}, "
                f"this command speaks {api.lowest} to {api.highest}"
            )
        return highest
