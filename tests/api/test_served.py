"""Declarations of the served APIs: one for each module, in agreement with its docstring."""

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from dray import api
from dray.api.dispatch import MODULES, SERVED
from scripts.compatibility_page import DIFFERENCES, NOTES, bullets

every_module = pytest.mark.parametrize("module", MODULES, ids=lambda module: module.API.api.name)
BROKER_IMPORTS = """
import json, sys
import dray.server.serving
print(json.dumps([name for name in sys.modules if name.startswith("dray.wire.apis.")]))
"""


def test_every_module_with_a_declaration_is_dispatched_to() -> None:
    folder = Path(api.__path__[0])
    declared = {path.stem for path in folder.glob("*.py") if "\nAPI: Final = Served(" in path.read_text()}
    assert declared == {module.__name__.rpartition(".")[2] for module in MODULES}
    assert len(SERVED) == len(MODULES)


@every_module
def test_docstring_opens_with_the_key_and_the_versions_that_are_served(module: ModuleType) -> None:
    served = module.API
    versions = f"versions {served.lowest} to {served.highest}"
    if served.lowest == served.highest:
        versions = f"version {served.lowest}"
    title = (module.__doc__ or "").partition("\n")[0]
    assert title.startswith(f"{served.api.name} (key {served.api.key}), {versions}")
    assert title.endswith(".")


@every_module
def test_version_notes_are_about_versions_of_the_api_in_order(module: ModuleType) -> None:
    noted = [note.partition(": ")[0] for note in bullets(module, NOTES)]
    versions = [int(version) for note in noted for version in note.split(", ")]
    assert noted or module.API.lowest == module.API.highest
    assert versions == sorted(versions)
    assert set(versions) <= set(range(module.API.api.highest + 1)), "what the codec does not know"
    assert f"{DIFFERENCES}:" not in (module.__doc__ or "") or bullets(module, DIFFERENCES)


def test_broker_imports_no_messages_of_apis_it_does_not_serve() -> None:
    ran = subprocess.run([sys.executable, "-c", BROKER_IMPORTS], capture_output=True, text=True, check=True)
    served = {module.__name__.rpartition(".")[2] for module in MODULES}
    imported = {name.rpartition(".")[2] for name in json.loads(ran.stdout)}
    assert imported == served | {"modules"}
