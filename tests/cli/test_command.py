"""The `dray` command as a person meets it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

import dray
from dray.cli import main
from dray.cli.failure import Failure
from dray.cli.lazy import Lazy, LazyGroup


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("DRAY_")]:
        monkeypatch.delenv(name)


def process(*arguments: str, env: dict[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, *arguments],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | (env or {}),
    )


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["--help"]) == 0
    out = capsys.readouterr().out
    for name, lazy in main.COMMANDS.items():
        assert f"  {name}" in out
        assert lazy.short_help in out
    assert "_DRAY_COMPLETE=bash_source dray" in out


def test_every_command_can_be_loaded_and_has_help(capsys: pytest.CaptureFixture[str]) -> None:
    for name in main.COMMANDS:
        assert main.run([name, "--help"]) == 0
        assert f"Usage: dray {name}" in capsys.readouterr().out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["version"]) == 0
    assert capsys.readouterr().out.startswith(f"dray {dray.__version__}\npython 3.")
    assert main.run(["version", "--json"]) == 0
    versions = json.loads(capsys.readouterr().out)
    assert versions["dray"] == dray.__version__
    assert {"python", "sqlite", "apsw", "obstore"} <= versions.keys()


def test_config_show(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "dray.yaml"
    file.write_text("log:\n  flush_bytes: 1MiB\nstorage:\n  access_key_id: a\n  secret_access_key: hunter2\n")
    monkeypatch.setenv("DRAY_BROKER_ZONE", "east")
    flags = ["--config", str(file), "--broker-id", "7", "--set", "log.linger_ms=3"]
    assert main.run(["config", "show", *flags]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert f"flush_bytes: 1MiB # {file}:2" in lines
    assert f'secret_access_key: "***" # {file}:5' in lines
    assert 'zone: "east" # env DRAY_BROKER_ZONE' in lines
    assert "id: 7 # flag --broker-id" in lines
    assert "linger_ms: 3ms # flag --set" in lines
    assert main.run(["config", "show", "--json", *flags]) == 0
    assert json.loads(capsys.readouterr().out)["log"]["flush_bytes"]["value"] == 1 << 20


def test_the_settings_file_may_be_named_by_a_variable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "dray.yaml"
    file.write_text("broker: {id: 4}")
    monkeypatch.setenv("DRAY_CONFIG", str(file))
    assert main.run(["config", "check"]) == 0
    assert capsys.readouterr().out == "the settings are good: 1 given, all others at their defaults\n"


def test_wrong_settings_exit_with_2_and_a_line_for_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["config", "show", "--broker-id", "x", "--set", "log.ling=1"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert [line.split(":")[:2] for line in err.splitlines()] == [
        ["dray", " flag --set"],
        ["dray", " flag --broker-id"],
    ]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ["confg"],
            "dray: No such command 'confg'. Did you mean 'config'? ('dray --help' tells more)\n",
        ),
        (["version", "--jsn"], "dray: No such option '--jsn'."),
        (["version", "x"], "dray: Got unexpected extra argument"),
        ([], "Usage: dray"),
        (["config"], "Usage: dray config"),
    ],
)
def test_a_wrong_call_exits_with_2(
    arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(arguments) == 2
    out, err = capsys.readouterr()
    assert err.startswith(expected)
    assert out == ""


@pytest.fixture
def failing_command(monkeypatch: pytest.MonkeyPatch) -> None:
    @click.command
    def fail() -> None:
        raise Failure("the bucket is missing\nthe disk is full")

    monkeypatch.setitem(main.dray.commands, "version", fail)


@pytest.mark.usefixtures("failing_command")
def test_a_failure_exits_with_1(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert main.run(["version"]) == 1
    assert capsys.readouterr().err == "dray: the bucket is missing\ndray: the disk is full\n"
    monkeypatch.setenv("DRAY_DEBUG", "1")
    assert main.run(["version"]) == 1
    assert "Traceback" in capsys.readouterr().err


UNEXPECTED = """
import click
from dray.cli import main
@click.command
def broken(): raise LookupError("one\\ntwo")
main.dray.commands["version"] = broken
main.sys.argv = ["dray", "version"]
main.main()
"""


def test_what_nobody_expected_is_one_line_too() -> None:
    quiet = process("-c", UNEXPECTED)
    assert quiet.returncode == 1
    assert quiet.stderr == "dray: LookupError: one (DRAY_DEBUG=1 shows where)\n"
    loud = process("-c", UNEXPECTED, env={"DRAY_DEBUG": "1"})
    assert loud.returncode == 1
    assert "Traceback" in loud.stderr


def test_python_m_dray() -> None:
    assert process("-m", "dray", "version").stdout.startswith(f"dray {dray.__version__}\n")
    assert process("-m", "dray", "nothing").returncode == 2


@pytest.mark.slow
def test_completion_names_commands_and_options() -> None:
    env = {"_DRAY_COMPLETE": "bash_complete", "COMP_WORDS": "dray con", "COMP_CWORD": "1"}
    assert process("-m", "dray", env=env).stdout == "plain,config\nplain,consume\n"
    env = {"_DRAY_COMPLETE": "bash_complete", "COMP_WORDS": "dray config show --st", "COMP_CWORD": "3"}
    assert process("-m", "dray", env=env).stdout == "plain,--storage\n"
    env = {"_DRAY_COMPLETE": "bash_complete", "COMP_WORDS": "dray up --broker", "COMP_CWORD": "2"}
    assert process("-m", "dray", env=env).stdout == "plain,--broker-id\nplain,--brokers\n"
    env = {"_DRAY_COMPLETE": "bash_complete", "COMP_WORDS": "dray groups re", "COMP_CWORD": "2"}
    assert process("-m", "dray", env=env).stdout == "plain,reset-offsets\n"
    env["COMP_WORDS"], env["COMP_CWORD"] = "dray groups reset-offsets g --to-e", "4"
    assert process("-m", "dray", env=env).stdout == "plain,--to-earliest\n"


def test_help_and_version_import_no_room_they_do_not_need() -> None:
    script = (
        "import sys; from dray.cli import main; main.run(sys.argv[1:]); "
        "heavy = {'asyncio', 'obstore', 'yaml'}; "
        "print(*sorted(name for name in sys.modules if name.startswith('dray.') or name in heavy))"
    )
    frame = ["dray.cli", "dray.cli.failure", "dray.cli.lazy", "dray.cli.main"]
    assert process("-c", script, "--help").stdout.splitlines()[-1].split() == frame
    assert process("-c", script, "version").stdout.splitlines()[-1].split() == [*frame, "dray.cli.version"]


def test_a_broker_does_not_pay_for_a_cloud_it_does_not_use() -> None:
    script = "import sys, dray.cli.up, dray.cli.broker; print('obstore' in sys.modules)"
    assert process("-c", script).stdout == "False\n"


def test_a_lazy_group_in_a_group_tells_apart_what_it_has() -> None:
    group = LazyGroup(name="g", lazy={"version": Lazy("dray.cli.version:version", "Other words.")})
    context = click.Context(group)
    command = group.get_command(context, "version")
    assert command is not None
    assert command.get_short_help_str() == "Other words."
    assert group.get_command(context, "config") is None
