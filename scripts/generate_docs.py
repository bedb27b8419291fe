"""Generator of the pages in docs/ that come from the code; with --check, it only lists stale ones."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from scripts import compatibility_page, metadata_page, metrics_page, settings_page

DOCS = Path(__file__).resolve().parent.parent / "docs"

PAGES: Mapping[str, Callable[[], str]] = {
    "COMPATIBILITY.md": compatibility_page.as_markdown,
    "METRICS.md": metrics_page.as_markdown,
    "formats/metadata-v1.md": metadata_page.as_markdown,
    "SETTINGS.md": settings_page.as_markdown,
}


def stale(docs: Path) -> dict[Path, str]:
    """Return the pages that differ from the code, with their new text."""
    pages = {docs / name: text() for name, text in PAGES.items()}
    return {path: text for path, text in pages.items() if not path.exists() or path.read_text() != text}


def main(arguments: list[str]) -> int:
    changed = stale(DOCS)
    if arguments == ["--check"]:
        for path in changed:
            print(f"{path.relative_to(DOCS.parent)} is stale: run make docs")
        return 1 if changed else 0
    for path, text in changed.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        print(f"wrote {path.relative_to(DOCS.parent)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
