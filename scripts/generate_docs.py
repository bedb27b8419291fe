"""Writes the pages of docs/ that are made from the code; with --check, only says which are stale."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from dray.cli.settings import DraySettings, schema_of
from dray.cli.settings.page import as_markdown
from scripts import compatibility_page, metrics_page

DOCS = Path(__file__).resolve().parent.parent / "docs"

PAGES: Mapping[str, Callable[[], str]] = {
    "COMPATIBILITY.md": compatibility_page.as_markdown,
    "METRICS.md": metrics_page.as_markdown,
    "SETTINGS.md": lambda: as_markdown(schema_of(DraySettings)),
}


def stale(docs: Path) -> dict[Path, str]:
    """Return the pages that are not what the code says, with their new text."""
    pages = {docs / name: text() for name, text in PAGES.items()}
    return {path: text for path, text in pages.items() if not path.exists() or path.read_text() != text}


def main(arguments: list[str]) -> int:
    changed = stale(DOCS)
    if arguments == ["--check"]:
        for path in changed:
            print(f"{path.relative_to(DOCS.parent)} is stale: run make docs")
        return 1 if changed else 0
    for path, text in changed.items():
        path.write_text(text)
        print(f"wrote {path.relative_to(DOCS.parent)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
