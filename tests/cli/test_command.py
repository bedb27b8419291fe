"""The `dray` command: help, version, exit codes and completion."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import dray
from dray.cli import main
from dray.cli.failure import Failure
from dray.cli.lazy import LazyCommand, LazyGroup
from dray.cli.settings_options import ALL_FLAGS


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


def test_every_command_loads_and_has_help(capsys: pytest.CaptureFixture[str]) -> None:
    for name in main.COMMANDS:
        assert main.run([name, "--help"]) == 0
        assert f"Usage: dray {name}" in capsys.readouterr().out


def all_commands() -> Iterator[tuple[str, click.Command]]:
    context = click.Context(main.dray)
    for name in main.COMMANDS:
        command = main.dray.get_command(context, name)
        assert command is not None
        yield name, command
        for sub_name, sub in getattr(command, "commands", {}).items():
            yield f"{name} {sub_name}", sub


def test_lists_of_commands_are_not_truncated(capsys: pytest.CaptureFixture[str]) -> None:
    for path, command in all_commands():
        if isinstance(command, click.Group):
            assert main.run([*path.split(), "--help"]) == 0
            listed = capsys.readouterr().out.partition("Commands:")[2].splitlines()
            assert len(listed) > 1
            assert [line for line in listed if line.endswith("...")] == []


def test_examples_are_headed_by_their_number() -> None:
    for path, command in all_commands():
        _, heading, rest = (command.help or "").partition("Example")
        if heading:
            examples = [line for line in rest.splitlines()[1:] if "dray " in line]
            assert rest.startswith("s:" if len(examples) > 1 else ":"), path


def test_defaults_of_settings_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["up", "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for default in (
        "(broker.data_dir) [default: ./dray-data]",
        "(broker.listen) [default: 127.0.0.1:9092]",
        "(broker.http) [default: 127.0.0.1:8090]",
        "(metadata.url) [default: sqlite:{data_dir}/metadata.sqlite]",
        "(storage.url) [default: file:{data_dir}/objects]",
        "(tables.catalog) [default: sqlite:{data_dir}/tables.sqlite]",
    ):
        assert default in shown
    assert main.run(["broker", "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "(broker.listen) [default: 127.0.0.1:9092]" in shown
    assert "(metadata.url) --storage" in shown, "a broker has no default stores"


def test_version_option_prints_the_version_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["--version"]) == 0
    assert capsys.readouterr().out == f"dray {dray.__version__}\n"


@pytest.mark.parametrize(
    ("command", "flags"),
    [
        ("index show", {"--data-dir", "--metadata"}),
        ("wal inspect", {"--data-dir", "--storage"}),
        ("sql", {"--data-dir", "--metadata", "--storage"}),
        ("gc run", {"--data-dir", "--metadata", "--storage"}),
        ("compaction status", {"--data-dir", "--metadata", "--storage"}),
        ("tables list", {"--data-dir", "--metadata", "--storage", "--catalog"}),
        ("compactor", {"--data-dir", "--metadata", "--storage", "--catalog"}),
        ("config show", set(ALL_FLAGS)),
    ],
)
def test_command_takes_only_flags_that_it_uses(
    command: str, flags: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run([*command.split(), "--help"]) == 0
    words = capsys.readouterr().out.split("Options:")[1].split()
    assert {flag for flag in ALL_FLAGS if flag in words} == flags


def test_version_lists_dependencies(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["version"]) == 0
    assert capsys.readouterr().out.startswith(f"dray {dray.__version__}\npython 3.")
    assert main.run(["version", "--json"]) == 0
    versions = json.loads(capsys.readouterr().out)
    assert versions["dray"] == dray.__version__
    assert {"python", "sqlite", "apsw", "obstore"} <= versions.keys()


def test_config_show_prints_values_and_origins(
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


def test_environment_variable_names_the_settings_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "dray.yaml"
    file.write_text("broker: {id: 4}")
    monkeypatch.setenv("DRAY_CONFIG", str(file))
    assert main.run(["config", "check"]) == 0
    assert capsys.readouterr().out == "settings are valid (1 set, the others default)\n"


def test_invalid_settings_exit_with_2_and_one_line_each(capsys: pytest.CaptureFixture[str]) -> None:
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
            "dray: No such command 'confg'. Did you mean 'config'? (see 'dray --help')\n",
        ),
        (["version", "--jsn"], "dray: No such option '--jsn'."),
        (["version", "x"], "dray: Got unexpected extra argument"),
        ([], "Usage: dray"),
        (["config"], "Usage: dray config"),
    ],
)
def test_invalid_usage_exits_with_2(
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
def test_failure_exits_with_1(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_unexpected_error_is_reported_in_one_line() -> None:
    quiet = process("-c", UNEXPECTED)
    assert quiet.returncode == 1
    assert quiet.stderr == "dray: LookupError: one (set DRAY_DEBUG=1 for the traceback)\n"
    loud = process("-c", UNEXPECTED, env={"DRAY_DEBUG": "1"})
    assert loud.returncode == 1
    assert "Traceback" in loud.stderr


def test_python_m_dray_runs_the_command() -> None:
    assert process("-m", "dray", "version").stdout.startswith(f"dray {dray.__version__}\n")
    assert process("-m", "dray", "nothing").returncode == 2


@pytest.mark.slow
def test_completion_suggests_commands_and_options() -> None:
    env = {"_DRAY_COMPLETE": "bash_complete", "COMP_WORDS": "dray con", "COMP_CWORD": "1"}
    assert process("-m", "dray", env=env).stdout == "plain,config\nplain,consume\n"
    env = {"_DRAY_COMPLETE": "bash_complete", "COMP_WORDS": "dray config show --st", "COMP_CWORD": "3"}
    assert process("-m", "dray", env=env).stdout == "plain,--storage\n"
    env = {"_DRAY_COMPLETE": "bash_complete", "COMP_WORDS": "dray up --broker", "COMP_CWORD": "2"}
    assert process("-m", "dray", env=env).stdout == "plain,--brokers\nplain,--broker-id\n"
    env = {"_DRAY_COMPLETE": "bash_complete", "COMP_WORDS": "dray groups re", "COMP_CWORD": "2"}
    assert process("-m", "dray", env=env).stdout == "plain,reset-offsets\n"
    env["COMP_WORDS"], env["COMP_CWORD"] = "dray groups reset-offsets g --to-e", "4"
    assert process("-m", "dray", env=env).stdout == "plain,--to-earliest\n"


def test_help_and_version_import_only_the_frame() -> None:
    script = (
        "import sys; from dray.cli import main; main.run(sys.argv[1:]); "
        "heavy = {'asyncio', 'obstore', 'yaml'}; "
        "print(*sorted(name for name in sys.modules if name.startswith('dray.') or name in heavy))"
    )
    frame = [
        "dray.cli",
        "dray.cli.failure",
        "dray.cli.lazy",
        "dray.cli.main",
        "dray.server",
        "dray.server.errors",
    ]
    assert process("-c", script, "--help").stdout.splitlines()[-1].split() == frame
    command = ["dray.cli.commands", "dray.cli.commands.version"]
    assert process("-c", script, "version").stdout.splitlines()[-1].split() == sorted([*frame, *command])


def test_broker_does_not_import_unused_cloud_storage() -> None:
    script = "import sys, dray.cli.commands.up, dray.cli.commands.broker; print('obstore' in sys.modules)"
    assert process("-c", script).stdout == "False\n"


def test_lazy_group_loads_only_its_own_commands() -> None:
    lazy = {"version": LazyCommand("dray.cli.commands.version:version", "Other words.")}
    group = LazyGroup(name="g", lazy=lazy)
    context = click.Context(group)
    command = group.get_command(context, "version")
    assert command is not None
    assert command.get_short_help_str() == "Other words."
    assert group.get_command(context, "config") is None
