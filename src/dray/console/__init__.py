"""HTTP endpoints of a broker: health, readiness and metrics."""

from dray.console.access import UserAccess
from dray.console.health import health_routes
from dray.console.http import CannotServeHttp, HttpServer, Route
from dray.console.page import Page

__all__ = ["CannotServeHttp", "HttpServer", "Page", "Route", "UserAccess", "health_routes"]
