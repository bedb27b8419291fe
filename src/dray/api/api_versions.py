"""ApiVersions (key 18), versions 0 to 4.

Version notes:
- 3: flexible; name and version of the client software (KIP-511).
- 4: features whose minimum version is 0.

A version that is not served is answered too, in version 0, with UNSUPPORTED_VERSION and the supported
versions of this one API, so that the client can ask again (KIP-511).
"""

import re
from collections.abc import Iterable
from typing import Final

from dray.api.exchange import Context
from dray.api.served import Served
from dray.api.services import Services
from dray.wire import ErrorCode
from dray.wire.apis.api_versions import (
    API_VERSIONS,
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?")
_SOFTWARE_FROM_VERSION = 3
_OPTIONAL_FEATURES_FROM_VERSION = 4
"""Older clients fail on a feature whose minimum version is 0."""
_GROUP_VERSION = 1


_advertised: list[ApiVersion] = []


def advertise(versions: Iterable[ApiVersion]) -> None:
    """Set what all clients are answered; `dispatch`, which imports this module, knows the APIs."""
    _advertised[:] = versions


async def handle(request: ApiVersionsRequest, context: Context, _: Services) -> ApiVersionsResponse:
    if context.version >= _SOFTWARE_FROM_VERSION and not _is_valid(request):
        return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
    return ApiVersionsResponse(
        api_keys=_advertised,
        supported_features=_supported(context.version),
        finalized_features_epoch=0,
        finalized_features=[
            FinalizedFeatureKey(
                name="group.version", max_version_level=_GROUP_VERSION, min_version_level=_GROUP_VERSION
            )
        ],
    )


def _supported(version: int) -> list[SupportedFeatureKey]:
    if version < _OPTIONAL_FEATURES_FROM_VERSION:
        return []
    return [SupportedFeatureKey(name="group.version", min_version=0, max_version=_GROUP_VERSION)]


def unsupported(own: ApiVersion) -> ApiVersionsResponse:
    return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[own])


def _is_valid(request: ApiVersionsRequest) -> bool:
    return all(
        _SOFTWARE.fullmatch(text) for text in (request.client_software_name, request.client_software_version)
    )


API: Final = Served(API_VERSIONS, versions=(0, 4), handle=handle)
