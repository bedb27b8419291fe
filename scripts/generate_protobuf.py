"""Generator of the message classes of networked metadata stores, from their .proto files.

Each `src/dray/meta/<store>/<name>.proto` gives `<name>_pb2.py` and its types, `<name>_pb2.pyi`. Run
`python -m scripts.generate_protobuf` after changing one; with --check it only lists stale modules.
"""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
SOURCES: Final = ROOT / "src"


def compiled(protos: list[Path]) -> dict[Path, str]:
    """Return the text of each generated module."""
    if not protos:
        return {}
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "grpc_tools.protoc", f"--proto_path={SOURCES}"]
        command += [f"--python_out={folder}", f"--pyi_out={folder}", *map(str, protos)]
        subprocess.run(command, check=True)
        made = sorted(path for path in Path(folder).rglob("*_pb2.py*") if path.is_file())
        return {SOURCES / path.relative_to(folder): _typed(path) for path in made}


def _typed(module: Path) -> str:
    """Return the text of a module; the generated types have `Mapping` without arguments."""
    lenient = '# mypy: disable-error-code="type-arg"\n\n' if module.suffix == ".pyi" else ""
    return lenient + module.read_text()


def main(arguments: list[str]) -> int:
    wanted = compiled(sorted(SOURCES.glob("dray/meta/*/*.proto")))
    changed = {path: text for path, text in wanted.items() if not path.exists() or path.read_text() != text}
    leftover = sorted(set(SOURCES.glob("dray/meta/**/*_pb2.py*")) - set(wanted))
    if arguments == ["--check"]:
        for path in [*changed, *leftover]:
            print(f"{path.relative_to(ROOT)} is stale: run python -m scripts.generate_protobuf")
        return 1 if changed or leftover else 0
    for path, text in changed.items():
        path.write_text(text)
    for path in leftover:
        path.unlink()
    print(f"wrote {len(changed)} modules, removed {len(leftover)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
