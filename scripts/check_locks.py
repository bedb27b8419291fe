"""Checks of the lock files: every package is pinned and hashed, from no named index, and not yanked.

Whether a release was yanked is known only to the package index of this machine. Without it, that part is
skipped, and a line says so.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
LOCKS: Final = sorted((ROOT / "requirements").glob("*.txt"))
PINNED: Final = re.compile(r"^[a-z0-9][a-z0-9._-]*==\S+( ;[^\\]*)? \\$")
HASH: Final = re.compile(r"^    --hash=sha256:[0-9a-f]{64}( \\)?$")
ORIGIN: Final = re.compile(r"^    #( |$)")
_YANKED: Final = re.compile(r"warning: `([^`]+)` is yanked(?: \(reason: (.*)\))?")
_INDEX_S: Final = 60


def faults(name: str, lines: list[str]) -> Iterator[str]:
    """Yield what is wrong with the text of a lock."""
    for number, line in enumerate(lines, 1):
        if not any(pattern.match(line) for pattern in (PINNED, HASH, ORIGIN)):
            yield f"{name}:{number}: neither a pin, nor a hash, nor an origin: {line}"
        if PINNED.match(line) and not (number < len(lines) and HASH.match(lines[number])):
            yield f"{name}:{number}: no hash follows {line.split(' ')[0]}"


def yanked(output: str) -> Iterator[str]:
    """Yield the yanked releases that uv warned of."""
    for found in _YANKED.finditer(output):
        yield f"{found[1]} was yanked from the index: {found[2] or 'no reason given'}; lock another version"


def ask_index(lock: Path) -> tuple[bool, str]:
    """Resolve a lock against the index without installing it; return whether that worked, and the output."""
    uv = [str(Path(sys.executable).parent / "uv"), "--no-progress"]
    options = ["--dry-run", "--reinstall", "--no-deps", "--require-hashes", "--python", sys.executable]
    try:
        asked = subprocess.run(
            [*uv, "pip", "install", *options, "-r", str(lock)],
            capture_output=True,
            text=True,
            timeout=_INDEX_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False, ""
    return asked.returncode == 0, asked.stderr


def main() -> int:
    found: list[str] = []
    is_known = True
    for lock in LOCKS:
        found += faults(lock.name, lock.read_text().splitlines())
        if is_known:  # else every further lock would wait for the index as well
            is_known, output = ask_index(lock)
            found += yanked(output)
    print("\n".join(found), end="\n" if found else "")
    if not is_known:
        print("note: the package index did not resolve the locks: yanked releases are not known")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
