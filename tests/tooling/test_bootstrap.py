"""Script scripts/bootstrap with a fake interpreter: its installations and its messages.

The fake interpreter is a shell script. It answers the queries of the script, appends every other call to
`calls`, and creates a virtual environment by copying itself. It needs no network and no real packages.
"""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

INTERPRETER = """#!/bin/bash
here=$FAKE_BIN
case "$*" in
    *"sys.version_info >="*) v=$(<$here/version); [[ $v == 3.1[1-9].* ]] && echo "/prefix $v"; exit ;;
    *"-venv"*) echo "python3.11-venv"; exit ;;
    *"import ensurepip"*) exit $(<$here/ensurepip) ;;
    *"import pip"*) exit 0 ;;
    *realpath*) echo "$here/python3"; exit ;;
    "-V") echo "Python $(<$here/version)"; exit ;;
esac
echo "$*" >>$here/calls
case "$*" in
    "-m venv .venv") mkdir -p .venv/bin && cp "$here/python3" .venv/bin/python ;;
    *"pip install"*) echo "Collecting apsw"; echo "the last words of pip"; exit $(<$here/pip) ;;
esac
"""

APT_GET = """#!/bin/bash
[[ $1 == update ]] && exit
echo "apt-get $*" >>$FAKE_BIN/calls
echo 0 >$FAKE_BIN/ensurepip
"""

VENV_TOOL = """#!/bin/bash
echo "${0##*/} $*" >>$FAKE_BIN/calls
mkdir -p .venv/bin && cp $FAKE_BIN/python3 .venv/bin/python
"""


@dataclass(frozen=True)
class Machine:
    """A tree with the script, and a PATH with the fake interpreter and Debian's essential programs."""

    tree: Path
    programs: Path

    def set(self, name: str, value: str) -> None:
        (self.programs / name).write_text(value)

    def calls(self) -> list[str]:
        file = self.programs / "calls"
        found = file.read_text().splitlines() if file.exists() else []
        file.unlink(missing_ok=True)
        return found

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.tree / "scripts" / "bootstrap"), *arguments],
            env={"PATH": str(self.programs), "FAKE_BIN": str(self.programs), **environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def program(self, name: str, body: str) -> None:
        file = self.programs / name
        file.unlink(missing_ok=True)
        file.write_text(body)
        file.chmod(0o755)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    tree, programs = tmp_path / "tree", tmp_path / "bin"
    for folder in (tree / "scripts", tree / "requirements", programs):
        folder.mkdir(parents=True)
    shutil.copy(ROOT / "scripts" / "bootstrap", tree / "scripts")
    (tree / "requirements" / "dev.txt").write_text("apsw==1 \\\n    --hash=sha256:0\nclick==2\n")
    (tree / "requirements" / "spark.txt").write_text("pyspark==4 \\\n    --hash=sha256:0\n")
    (tree / "pyproject.toml").write_text("[project]\n")
    essential = ["bash", "cat", "cp", "dirname", "env", "grep", "mkdir", "rm", "sha256sum", "tail", "tr"]
    for name in essential:
        (programs / name).symlink_to(shutil.which(name) or os.devnull)
    made = Machine(tree, programs)
    made.program("python3", INTERPRETER)
    made.program("id", "#!/bin/bash\necho 1000\n")
    for name, value in (("version", "3.11.2"), ("ensurepip", "0"), ("pip", "0")):
        made.set(name, value)
    return made


LOCKED = "--no-deps --require-hashes --requirement requirements/dev.txt"
PROJECT = "--no-deps --no-build-isolation --editable ."
SPARK = "--no-deps --no-build-isolation --require-hashes --requirement requirements/spark.txt"


def test_fresh_tree_gets_a_venv_the_locked_packages_and_the_project(machine: Machine) -> None:
    result = machine.run()
    assert result.returncode == 0, result.stderr
    venv, locked, project = machine.calls()
    assert venv == "-m venv .venv"
    assert locked.startswith("-m pip install ")
    assert locked.endswith(LOCKED)
    assert project.endswith(PROJECT)
    assert "creating .venv with Python 3.11.2" in result.stdout
    assert "installing 2 locked packages" in result.stdout


def test_second_run_does_and_prints_nothing(machine: Machine) -> None:
    machine.run()
    machine.calls()
    again = machine.run()
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
    assert machine.calls() == []


@pytest.mark.parametrize("file", ["requirements/dev.txt", "pyproject.toml"])
def test_changed_lock_installs_again_into_the_same_venv(machine: Machine, file: str) -> None:
    machine.run()
    machine.calls()
    with (machine.tree / file).open("a") as text:
        text.write("# changed\n")
    machine.run()
    locked, project = machine.calls()
    assert locked.endswith(LOCKED)
    assert project.endswith(PROJECT)


def test_spark_is_installed_when_asked_for_and_then_once(machine: Machine) -> None:
    machine.run()
    machine.calls()
    result = machine.run("spark")
    assert result.returncode == 0, result.stderr
    assert "installing Spark" in result.stdout
    (installed,) = machine.calls()
    assert installed.endswith(SPARK)
    for again in (machine.run("spark"), machine.run()):
        assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
    assert machine.calls() == []


def test_spark_is_installed_last_with_the_locked_setuptools(machine: Machine) -> None:
    machine.run("spark")
    _, locked, _, spark = machine.calls()
    assert locked.endswith(LOCKED)
    assert spark.endswith(SPARK)


def test_changed_spark_lock_is_installed_only_on_request(machine: Machine) -> None:
    machine.run("spark")
    machine.calls()
    with (machine.tree / "requirements" / "spark.txt").open("a") as text:
        text.write("# changed\n")
    machine.run()
    assert machine.calls() == []
    machine.run("spark")
    (installed,) = machine.calls()
    assert installed.endswith(SPARK)


def test_spark_whose_installation_failed_is_tried_again(machine: Machine) -> None:
    machine.run()
    machine.set("pip", "7")
    assert machine.run("spark").returncode == 1
    machine.calls()
    machine.set("pip", "0")
    assert machine.run("spark").returncode == 0
    (installed,) = machine.calls()
    assert installed.endswith(SPARK)


def test_unknown_argument_is_refused(machine: Machine) -> None:
    result = machine.run("flink")
    assert result.returncode == 1
    assert "expected nothing or `spark`, not: flink" in result.stderr
    assert machine.calls() == []


def test_another_version_of_python_recreates_the_venv(machine: Machine) -> None:
    machine.run()
    machine.calls()
    leftover = machine.tree / ".venv" / "leftover"
    leftover.touch()
    machine.set("version", "3.12.1")
    machine.run()
    assert machine.calls()[0] == "-m venv .venv"
    assert not leftover.exists()


def test_moved_tree_recreates_the_venv(machine: Machine) -> None:
    machine.run()
    machine.calls()
    moved = Machine(machine.tree.rename(machine.tree.with_name("moved")), machine.programs)
    moved.run()
    assert moved.calls()[0] == "-m venv .venv"


def test_failed_install_shows_the_end_of_the_log_and_is_tried_again(machine: Machine) -> None:
    machine.set("pip", "7")
    failed = machine.run()
    assert failed.returncode == 1
    assert "the last words of pip" in failed.stderr
    assert "The full output is in .cache/bootstrap.log." in failed.stderr
    machine.calls()
    machine.set("pip", "0")
    assert machine.run().returncode == 0
    assert len(machine.calls()) == 2


def test_old_python_is_refused_with_what_to_do(machine: Machine) -> None:
    machine.set("version", "3.10.9")
    found = machine.run()
    assert found.returncode == 1
    assert "no Python of version 3.11 or later found" in found.stderr
    assert "apt-get install python3 python3-venv" in found.stderr
    named = machine.run(PYTHON="python3")
    assert named.returncode == 1
    assert "PYTHON=python3 is not a working Python 3.11 or later" in named.stderr


def test_without_ensurepip_and_rights_the_message_has_the_command(machine: Machine) -> None:
    machine.set("ensurepip", "1")
    result = machine.run()
    assert result.returncode == 1
    assert "Run this and try again: apt-get install python3.11-venv" in result.stderr
    assert machine.calls() == []


@pytest.mark.parametrize("user", ["root", "sudoer"])
def test_without_ensurepip_and_with_rights_the_package_is_installed(machine: Machine, user: str) -> None:
    machine.set("ensurepip", "1")
    if user == "root":
        machine.program("id", "#!/bin/bash\necho 0\n")
    else:
        machine.program("sudo", '#!/bin/bash\n[[ $1 == -n ]] && shift && exec "$@"\n')
        machine.program("true", "#!/bin/bash\n")
    machine.program("apt-get", APT_GET)
    result = machine.run()
    assert result.returncode == 0, result.stderr
    apt, venv, *_ = machine.calls()
    assert apt == "apt-get install -q -y --no-install-recommends python3.11-venv"
    assert venv == "-m venv .venv"


@pytest.mark.parametrize("tool", ["virtualenv", "uv"])
def test_without_ensurepip_another_tool_makes_the_venv(machine: Machine, tool: str) -> None:
    machine.set("ensurepip", "1")
    machine.program(tool, VENV_TOOL)
    result = machine.run()
    assert result.returncode == 0, result.stderr
    first, locked, _ = machine.calls()
    assert first.startswith(f"{tool} ")
    assert str(machine.programs / "python3") in first
    assert locked.endswith(LOCKED)
