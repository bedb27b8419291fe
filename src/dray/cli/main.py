"""The `dray` command: its subcommands and exit codes.

Nothing expensive may be imported here; see `dray.cli.lazy`.
"""

import sys
import traceback
from typing import Final

import click

from dray import __version__
from dray.cli.failure import report, report_unexpected
from dray.cli.lazy import LazyCommand, LazyGroup
from dray.server.errors import EXIT_FAILED, StartupError, debugging

_HELP: Final = {
    "acls": "Add, list and remove ACLs.",
    "broker": "Run one broker of a cluster.",
    "check": "Find and repair what is wrong in the stores.",
    "compaction": "Show the progress of compaction.",
    "compactor": "Compact topics into Iceberg tables.",
    "config": "Show and check the effective settings.",
    "consume": "Print the records of a topic.",
    "demo": "Tour a topic as stream, table and SQL.",
    "gc": "Delete unreferenced objects.",
    "groups": "List, describe and delete groups, reset offsets.",
    "index": "Inspect the offset index.",
    "metadata": "Back up, restore and verify the metadata.",
    "produce": "Send lines to a topic as records.",
    "quotas": "Set, list and remove quotas of clients.",
    "sql": "Query topics with SQL.",
    "tables": "List and describe the tables of topics.",
    "topics": "Create, list, describe, alter and delete topics.",
    "up": "Run a local broker (Kafka API, Iceberg tables).",
    "users": "Add, list and delete users, change passwords.",
    "version": "Show the versions of Dray and its dependencies.",
    "wal": "Inspect WAL objects.",
}
COMMANDS: Final = {
    name: LazyCommand(f"dray.cli.commands.{name}:{name}", short_help) for name, short_help in _HELP.items()
}

_COMPLETION: Final = """\
Shell completion: add the line for your shell to its startup file.

\b
  bash  eval "$(_DRAY_COMPLETE=bash_source dray)"
  zsh   eval "$(_DRAY_COMPLETE=zsh_source dray)"
  fish  _DRAY_COMPLETE=fish_source dray | source
"""


@click.group(
    cls=LazyGroup,
    lazy=COMMANDS,
    epilog=_COMPLETION,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="dray %(version)s")
def dray() -> None:
    """Dray: a Kafka-compatible streaming engine on object storage, without leaders or local state.

    Settings come from defaults, a YAML file (--config), DRAY_* variables and flags, later ones taking
    precedence; 'dray config show' prints the effective values.

    Exit codes: 0 success, 2 invalid arguments or settings or a missing dependency, 1 any other failure.
    """


def main() -> None:
    """Run the command of this process and exit."""
    if not debugging():
        sys.excepthook = report_unexpected
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command and return its exit code."""
    try:
        answer = dray.main(arguments, prog_name="dray", standalone_mode=False)
    except (click.ClickException, StartupError) as error:
        if debugging():
            traceback.print_exc()
        return report(error)
    except click.Abort:
        click.echo("dray: interrupted", err=True)
        return EXIT_FAILED
    return answer if isinstance(answer, int) else 0
