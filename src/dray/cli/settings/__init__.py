"""Settings: what may be set, where a value came from, and what is wrong with one."""

from dray.cli.settings.effective import load_settings
from dray.cli.settings.load import Loaded
from dray.cli.settings.problems import SettingsError
from dray.cli.settings.schema import Schema, schema_of
from dray.cli.settings.secret import Secret
from dray.cli.settings.tree import DraySettings

__all__ = ["DraySettings", "Loaded", "Schema", "Secret", "SettingsError", "load_settings", "schema_of"]
