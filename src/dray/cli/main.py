"""The `dray` command: the list of commands, and how it ends.

Nothing heavy may be imported here; see `dray.cli.lazy`.
"""

import sys
import traceback
from typing import Final

import click

from dray.cli.failure import EXIT_FAILED, debugging, tell, tell_unexpected
from dray.cli.lazy import Lazy, LazyGroup

COMMANDS: Final = {
    "broker": Lazy("dray.cli.broker:broker", "Run one broker of a cluster."),
    "compaction": Lazy("dray.cli.compaction_status:compaction", "See how far topics have become tables."),
    "compactor": Lazy("dray.cli.compactor:compactor", "Turn topics into Iceberg tables."),
    "config": Lazy("dray.cli.config:config", "Show and check the settings in effect."),
    "consume": Lazy("dray.cli.consume:consume", "Show the records of a topic."),
    "demo": Lazy("dray.cli.demo:demo", "See a topic as stream, table and SQL, in a minute."),
    "gc": Lazy("dray.cli.gc:gc", "Delete objects that nothing needs."),
    "groups": Lazy("dray.cli.groups:groups", "List, describe and delete groups, reset their offsets."),
    "index": Lazy("dray.cli.index:index", "Look into the offset index."),
    "produce": Lazy("dray.cli.produce:produce", "Send lines as records to a topic."),
    "sql": Lazy("dray.cli.sql:sql", "Ask topics as tables."),
    "tables": Lazy("dray.cli.table_commands:tables", "List and describe the tables of topics."),
    "topics": Lazy("dray.cli.topics:topics", "Make, list, describe, alter and delete topics."),
    "up": Lazy("dray.cli.up:up", "Run a Kafka on this machine."),
    "version": Lazy("dray.cli.version:version", "Show the versions of Dray and what it stands on."),
    "wal": Lazy("dray.cli.wal:wal", "Look into WAL objects."),
}

_COMPLETION: Final = """\
Completion: add the line for your shell to its start-up file.

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
def dray() -> None:
    """Dray: a Kafka-compatible log on object storage, without leaders or local state.

    Settings come from defaults, a YAML file (--config), DRAY_* variables and flags, each stronger than the
    one before; 'dray config show' prints them all. A command exits with 0 when it did what was asked, with 2
    when its arguments or settings make no sense or something is not installed, and with 1 when anything else
    failed, such as when there is no cluster where they say.
    """


def main() -> None:
    """Run the command of this process and exit."""
    if not debugging():
        sys.excepthook = tell_unexpected
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command and return its exit code."""
    try:
        answer = dray.main(arguments, prog_name="dray", standalone_mode=False)
    except click.ClickException as error:
        if debugging():
            traceback.print_exc()
        return tell(error)
    except click.Abort:
        click.echo("dray: stopped before it was done", err=True)
        return EXIT_FAILED
    return answer if isinstance(answer, int) else 0
