"""Plugins and profiles for every test. Fixtures and builders live beside the room they serve, not here."""

from hypothesis import HealthCheck, settings

pytest_plugins = ("pytester", "tests.plugins.parts")

# On two busy cores a slow example is not a wrong one; pytest-timeout catches what hangs.
settings.register_profile("dray", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("dray"), max_examples=25)
settings.load_profile("dray")
