"""Settings: schema, sources (file, environment, flags), validation, and the origin of each value."""

from dray.settings.effective import load_settings
from dray.settings.load import Loaded
from dray.settings.problems import SettingsError
from dray.settings.schema import Schema, schema_of
from dray.settings.secret import Secret
from dray.settings.tree import DraySettings

__all__ = ["DraySettings", "Loaded", "Schema", "Secret", "SettingsError", "load_settings", "schema_of"]
