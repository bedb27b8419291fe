"""Check of documents: links, references to code, length of lines, and words that do not belong in the tree.

*Links.* In every Markdown file a relative link must lead to a file that exists, and its `#anchor` to a
heading of that file. Addresses on the web are not visited.

*References.* In a document, code such as `log/writer.py:DomainWriter.append` names a file of `src/dray` and a
function, class or constant in it. Both must exist.

*Lines.* A line of prose has at most 120 columns. Tables, code and generated pages are exempt.

*Words.* No file may name a path on a particular machine, the host of a package registry, or how the text was
written. The patterns are spelt so that they do not match themselves.

Only the standard library is used, so that the check runs before anything is installed.
"""

import argparse
import ast
import re
import subprocess
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parent.parent
UNTRACKED_FOLDERS = {"__pycache__", "build", "dist", "dray-data"}
LINK = re.compile(r"!?\[[^\]]*\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)|^\[[^\]]+\]:\s+(\S+)")
HEADING = re.compile(r"#{1,6}\s+(.*?)\s*#*$")
CODE_SPAN = re.compile(r"(`+).+?\1")
REFERENCE = re.compile(r"`((?:[a-z_0-9]+/)+[a-z_0-9]+\.py)(?::([A-Za-z_.0-9]+))?`")
LINE_MAX = 120
GENERATED = re.compile(r"^Generated .*do not edit\.", re.MULTILINE)
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)

FORBIDDEN = {
    "a path on a particular machine": re.compile(
        r"(?<![\w.~-])/(?:w[o]rk|r[o]ot|h[o]me/\w+|U[s]ers/\w+|opt/w[h]eels)(?:/|\b(?!/))"
    ),
    "the host of a package registry": re.compile(
        r"pypi[.]org|pythonhosted[.]org|registry[.]npmjs|proxy[.]golang[.]org|repo1?[.]maven|crates[.]io(?!-index)",
        re.IGNORECASE,
    ),
    "a word on how the text was written": re.compile(
        r"\b(?:pr[o]mpts?|L[L]Ms?|Cl[a]ude|ChatG[P]T)\b|"
        r"(?<!user[ -])(?<!proxy-)\b(?:sub-?)?a[g]ents?\b(?!-base)",
        re.IGNORECASE,
    ),
}


@dataclass(frozen=True, slots=True)
class Fault:
    path: Path
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


def tracked_files(root: Path) -> list[Path]:
    """Return the files that git tracks or would track; without git, all outside hidden and build folders."""
    command = ["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        listed = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return sorted(walk(root))
    return sorted(path for name in listed.split("\0") if name and (path := root / name).is_file())


def walk(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.is_file():
            yield path
        elif path.name not in UNTRACKED_FOLDERS and path.suffix != ".egg-info" and path.name[0] != ".":
            yield from walk(path)


def read_text(path: Path) -> str | None:
    """Return the text of a file, or None if it is not text."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


def prose_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines outside fenced code."""
    fence = ""
    for number, line in enumerate(text.splitlines(), 1):
        mark = re.match(r"\s*(```+|~~~+)", line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence):
            fence = ""
        elif not fence:
            yield number, line


def slug(heading: str) -> str:
    """Return the anchor that GitHub gives a heading."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    kept = (c for c in text if c in " -_" or unicodedata.category(c)[0] in "LNM")
    return "".join(kept).replace(" ", "-")


def anchors(text: str) -> set[str]:
    found: set[str] = set(re.findall(r'<a (?:id|name)="([^"]+)"', text))
    for _, line in prose_lines(text):
        if match := HEADING.match(line):
            plain = slug(match[1])
            again = sum(1 for name in found if re.fullmatch(re.escape(plain) + r"(-\d+)?", name))
            found.add(f"{plain}-{again}" if again else plain)
    return found


def links(text: str) -> Iterator[tuple[int, str]]:
    for number, line in prose_lines(text):
        for match in LINK.finditer(CODE_SPAN.sub("", line)):
            yield number, match[1] or match[2]


def link_fault(root: Path, page: Path, target: str) -> str | None:
    if ELSEWHERE.match(target):
        return None
    name, _, anchor = unquote(target).partition("#")
    file = (page.parent / name).resolve() if name else page
    if not file.is_relative_to(root.resolve()) or not file.exists():
        return f"link to {target}: there is no such file"
    if anchor and file.suffix == ".md" and anchor not in anchors(file.read_text(encoding="utf-8")):
        return f"link to {target}: no heading of {file.name} has that anchor"
    return None


def check_links(root: Path, files: Iterable[Path]) -> Iterator[Fault]:
    for page in files:
        if page.suffix != ".md":
            continue
        for number, target in links(page.read_text(encoding="utf-8")):
            if message := link_fault(root, page, target):
                yield Fault(page.relative_to(root), number, message)


def defined_names(source: str) -> set[str]:
    """Return the module's functions, classes, methods and constants; methods as `Class.method`."""
    names = set()
    for node in ast.parse(source).body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                names.add(node.name)
            case ast.Assign():
                names.update(target.id for target in node.targets if isinstance(target, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
        if isinstance(node, ast.ClassDef):
            methods = (item for item in node.body if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef))
            names.update(f"{node.name}.{method.name}" for method in methods)
    return names


def reference_fault(root: Path, file: str, name: str | None) -> str | None:
    for folder in (root / "src" / "dray", root):
        path = folder / file
        if path.is_file():
            if name is None or name in defined_names(path.read_text(encoding="utf-8")):
                return None
            return f"reference to {file}:{name}: {file} defines no {name}"
    return f"reference to {file}: there is no such file in src/dray"


def check_references(root: Path, files: Iterable[Path]) -> Iterator[Fault]:
    for page in files:
        if page.suffix != ".md" or page.name == "CHANGELOG.md":
            continue
        for number, line in prose_lines(page.read_text(encoding="utf-8")):
            for file, name in REFERENCE.findall(line):
                if message := reference_fault(root, file, name or None):
                    yield Fault(page.relative_to(root), number, message)


def check_lines(root: Path, files: Iterable[Path]) -> Iterator[Fault]:
    for page in files:
        text = page.read_text(encoding="utf-8") if page.suffix == ".md" else ""
        if GENERATED.search(text):
            continue
        for number, line in prose_lines(text):
            if len(line) > LINE_MAX and not line.lstrip().startswith("|"):
                yield Fault(page.relative_to(root), number, f"{len(line)} columns; at most {LINE_MAX}")


def check_words(root: Path, files: Iterable[Path]) -> Iterator[Fault]:
    for path in files:
        for number, line in enumerate((read_text(path) or "").splitlines(), 1):
            for what, pattern in FORBIDDEN.items():
                if match := pattern.search(line):
                    yield Fault(path.relative_to(root), number, f"{what}: {match[0]!r}")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Check links, references to code, lines, and words.")
    parser.add_argument("--root", type=Path, default=ROOT, help="the tree to check")
    options = parser.parse_args(arguments)
    root: Path = options.root.resolve()
    files = tracked_files(root)
    checks = (check_links, check_references, check_lines, check_words)
    faults = [fault for check in checks for fault in check(root, files)]
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
