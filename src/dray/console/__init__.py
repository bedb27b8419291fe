"""HTTP endpoints of a broker: health, readiness and metrics."""

from dray.console.access import UserAccess
from dray.console.health import health_routes
from dray.console.http import HttpServer, Route
from dray.console.page import Page

__all__ = ["HttpServer", "Page", "Route", "UserAccess", "health_routes"]
