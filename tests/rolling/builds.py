"""The build before this one, for tests of rolling upgrades: its package, unpacked from the repository.

That is the last commit if the package has changes that are not committed, else the one before it.
`UPGRADE_FROM` names any other revision.
"""

import os
import subprocess
import sys
import tarfile
from io import BytesIO
from pathlib import Path

from tests.brokers import environment_of

_ROOT = Path(__file__).parents[2]
_PACKAGE = "src/dray"


def revision_before() -> str:
    """Return the revision of the build before this one."""
    named = os.environ.get("UPGRADE_FROM")
    if named:
        return named
    is_changed = _git("status", "--porcelain", "--", _PACKAGE)
    return "HEAD" if is_changed else "HEAD~1"


def unpack(revision: str, folder: Path) -> Path:
    """Unpack the package of a revision; returns the folder to import it from."""
    packed = _git("archive", "--format=tar", revision, "--", _PACKAGE)
    with tarfile.open(fileobj=BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    tree = folder / "src"
    script = "import dray; print(dray.__file__)"
    found = subprocess.run(
        [sys.executable, "-c", script], env=environment_of(tree), capture_output=True, text=True, check=True
    )
    assert Path(found.stdout.strip()) == tree / "dray" / "__init__.py"
    return tree


def _git(*arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=_ROOT, capture_output=True, check=True).stdout
