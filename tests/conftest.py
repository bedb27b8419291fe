"""Plugins and profiles for every test. Fixtures and builders are next to the tests they serve, not here."""

from hypothesis import HealthCheck, settings

pytest_plugins = ("pytester", "tests.plugins.parts")

# A slow example on a busy machine is not a failure; pytest-timeout catches hangs.
settings.register_profile("dray", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("dray"), max_examples=25)
settings.load_profile("dray")
