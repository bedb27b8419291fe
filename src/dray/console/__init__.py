"""What a broker shows over HTTP: health, readiness, metrics; later the page for people."""

from dray.console.health import health_routes
from dray.console.http import CannotServeHttp, HttpServer, Page, Route

__all__ = ["CannotServeHttp", "HttpServer", "Page", "Route", "health_routes"]
