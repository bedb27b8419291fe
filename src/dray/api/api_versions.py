"""ApiVersions (key 18). Versions 0 to 4.

A version that is not served is answered all the same, in version 0, with UNSUPPORTED_VERSION and the
versions of this one API, so that the client can ask again (see `dispatch`).
"""

import re
from collections.abc import Sequence

from dray.wire import ErrorCode
from dray.wire.apis.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?")
_SOFTWARE_FROM_VERSION = 3
_FEATURES_FROM_NOTHING_FROM_VERSION = 4
"""Before it, clients could not bear a feature that may also be off."""
_GROUP_VERSION = 1


def answer(request: ApiVersionsRequest, version: int, served: Sequence[ApiVersion]) -> ApiVersionsResponse:
    if version >= _SOFTWARE_FROM_VERSION and not _is_valid(request):
        return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
    return ApiVersionsResponse(
        api_keys=list(served),
        supported_features=_supported(version),
        finalized_features_epoch=0,
        finalized_features=[
            FinalizedFeatureKey(
                name="group.version", max_version_level=_GROUP_VERSION, min_version_level=_GROUP_VERSION
            )
        ],
    )


def _supported(version: int) -> list[SupportedFeatureKey]:
    if version < _FEATURES_FROM_NOTHING_FROM_VERSION:
        return []
    return [SupportedFeatureKey(name="group.version", min_version=0, max_version=_GROUP_VERSION)]


def unsupported(own: ApiVersion) -> ApiVersionsResponse:
    return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[own])


def _is_valid(request: ApiVersionsRequest) -> bool:
    return all(
        _SOFTWARE.fullmatch(text) for text in (request.client_software_name, request.client_software_version)
    )
