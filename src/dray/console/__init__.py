"""HTTP endpoints of a broker: health, readiness and metrics."""

from dray.console.health import health_routes
from dray.console.http import CannotServeHttp, HttpServer, Page, Route

__all__ = ["CannotServeHttp", "HttpServer", "Page", "Route", "health_routes"]
