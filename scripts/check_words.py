"""Check for words of our own where the field has a word: names, strings, docstrings and documents.

Each entry is a pattern and what to write instead. A space in a pattern also matches `_`, so phrases are found
in identifiers. The check reads every text file that git tracks, except recorded and generated data, locks and
this list; it prints nothing if it finds nothing. `python scripts/check_words.py PATH...` narrows it.

The docstring of a module must open with a noun phrase that could be its title, not with "What" or "Who".
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent

_KAFKA_NOUNS: Final = (
    "API|batch|broker|client|cluster|connector|consumer|distribution|error|group|key|listener|offset|partition|"
    "producer|record|request|response|segment|server|source|topic|tool|version"
)
"""What "a Kafka …" may be; "a Kafka" alone could be a broker or a cluster."""

BANNED: Final = {
    r"somebody(?:'?s)?": "another process, another writer, a client, a user",
    r"nobody(?:'?s)?": "no process, no member, no client",
    r"whoever": "the caller, the process that",
    r"anybody|everybody|anyone|(?<!allow[._])everyone": "any client, any engine, all members",
    r"tells?(?!\((?:self)?\))|telling": "log, report, return, raise, print, notify, show, distinguish",
    r"(?:un)?told": "logged, reported, returned, raised, printed, notified",
    r"anew|afresh": "again, from scratch",
    r"for ever": "forever, permanently",
    r"(?:given|gave|giving) up": "released, aborted, abandoned, expired, dropped, removed",
    r"gives? up": "release, abort, abandon, expire, drop, remove",
    r"in vain|comes? to nothing": "failed, without effect",
    r"stretch(?:es|ed|ing)?": "range, entry range, offset range",
    r"catalogu(?:es?|ed|ing)": "catalog",
    r"desks?|offices?|census": "group shard, coordinator context, group gauges",
    r"doom(?:ed)?": "tombstoned, deleted; failpoint",
    r"cares?|cared|caretakers?|looks? after|looking after|looked after": "own, maintain, run; maintenance",
    r"upkeep": "maintenance, snapshot expiry",
    r"beaten|beats": "heartbeat result, heartbeats",
    r"namesakes?": "a topic of the same name",
    r"rooms?": "package; space, capacity",
    r"glanc(?:es?|ed|ing)": "shallow validation, header check",
    r"complaints?|complain(?:s|ed|ing)?": "error report, report",
    r"roster|surroundings|troubles": "members; runtime, context; failures",
    r"tabled": "committed to the table, published",
    r"heeds?|sought|deeds?|betimes": "honor, searched, action, in time",
    r"mend(?:s|ed|ing)?": "fix, repair",
    r"blows?|torment(?:s|ed)?|ordeals?": "fault, kill, experiment",
    r"struck|stricken": "hit, killed, fired",
    r"onlookers?|bystanders?|rivals?": "observer, checker; other processes; the compared system",
    r"fates?|surely|for people": "outcome; certainly; for the user",
    r"(?:is|are|was|were) no more|is gone|are gone": "no longer exists, was deleted, has expired, has left",
    # "there is no x" is fine, "x is no offset" is a riddle.
    r"(?<!there )(?:is|are|was|were) no(?= (?!longer|more|other|such|less))": "is not a",
    rf"(?-i:a Kafka)(?! (?:\w+(?: |-))?(?:{_KAFKA_NOUNS})(?:e?s)?(?![a-z])|-)": "a Kafka broker, cluster, …",
    r"fleets?": "broker processes, supervisor",
    r"stand(?:s|ing)? by|overdrawn|pressed|strained": "wait, over its limit, under memory pressure",
    r"(?:wait|stand)(?:s|ing)? in line|turn by turn": "queued, waiting; alternating",
    # The verb and "in turn" are fine.
    r"(?:a|the|its|their|each|every|one|next|whose) turns?|(?<!in )turns?(?= ?[=.,:)\]])": "pass, step; lock",
    r"(?:stay(?:s|ed|ing)?|kept) away": "stay unavailable, stay down",
    r"hold(?:s|ing)? up(?! to)|held up": "delay, block",
    r"at hand": "cached, available",
    r"lets? go|letting go": "release, detach, evict",
    r"sends? for|sending for|sent for(?! \w+(?:, \w+)* in )": "prefetch, request",
    r"an own": "its own, a separate",
    r"already there|there already": "already exists, is present",
    r"to be had|as it comes": "available; with default settings",
    r"go(?:es)? on|going on|went on|gone on": "continue, resume, keep waiting",
    r"falls? over|fell over": "fails with, crashes",
    r"(?:un)?sound": "valid, intact; invalid",
    r"judg(?:e[sd]|ing|e?ments?)": "check, validate, detect",
    r"enlist(?:s|ed)?|dismiss(?:es|ed)?": "subscribe, unsubscribe; register, remove",
    r"test_(?:what|who|whatever|whose|of two)(?=_)": "name the test after the behavior it shows",
    # The end of a log, a batch or a file has bytes after it; a member may lag or be left behind.
    r"(?<!left )(?<!lags )(?<!falls )behind (?:it|them|its end|the end|where)": "after",
}
"""What not to write, as regular expressions over whole words, and what to write instead."""

EXEMPT: Final = re.compile(
    r"scripts/check_words\.py|tests/tooling/banned_words\.txt|LICENSE|requirements/.*|"
    r".*\.(?:svg|png|lock|sum|mod|bin|transcript|json)|src/dray/wire/apis/.*|.*_pb2\.pyi?"
)
INSTEAD: Final = list(BANNED.values())
# One group for each entry. `_` parts the words of an identifier.
WORDS: Final = re.compile(
    rf"(?<![A-Za-z])(?:{'|'.join(f'({words})' for words in BANNED).replace(' ', '[ _]')})(?![a-z])",
    re.IGNORECASE,
)
# `GroupDesk` becomes `Group_Desk`.
CHANGE_OF_CASE: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
LINE_START: Final = re.compile(r"^[\s#>*/-]*")
"""Indentation and the signs of comments and lists."""
RELATIVE_WHO: Final = re.compile(r'(?:"""|# |[.:;] )Who [a-z][^?]*$')
"""A relative clause without an antecedent, as in "Who commits to no group makes one"."""
RIDDLE: Final = re.compile(
    r'[rRuUbBfF]{0,2}(?:"""|\'\'\')(?:What|Who|Whose|Which|Where|When|Whether|How|Why|Whatever|However)(?![A-Za-z])'
)


def tracked(paths: list[str]) -> Iterator[Path]:
    command = [
        "git",
        "-C",
        str(ROOT),
        "ls-files",
        "--cached",
        "--others",
        "--exclude-standard",
        "-z",
        "--",
        *paths,
    ]
    listed = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    for name in sorted(set(filter(None, listed.split("\0")))):
        if not EXEMPT.fullmatch(name) and (ROOT / name).is_file():
            yield ROOT / name


def findings(path: Path) -> Iterator[str]:
    try:
        lines = path.read_text().splitlines()
    except UnicodeDecodeError:
        return
    where = path.relative_to(ROOT)
    for found in matches(str(where)):
        yield f"{where}: the file's name has {found[0]!r}"
    if path.suffix == ".py" and lines and (riddle := RIDDLE.match(lines[0])):
        yield f"{where}:1: {riddle[0]!r}; open with a noun phrase that could be the module's title"
    for number, line in enumerate(lines, 1):
        following = lines[number] if number < len(lines) else ""
        for found in (*matches(line), *across(line, following)):
            yield f"{where}:{number}: {found[0]!r}; write: {INSTEAD[(found.lastindex or 0) - 1]}"
        if relative := RELATIVE_WHO.search(line):
            yield f"{where}:{number}: {relative[0]!r}; write: A client that, a process that"


def matches(text: str) -> Iterator[re.Match[str]]:
    return WORDS.finditer(CHANGE_OF_CASE.sub("_", text))


def across(line: str, following: str) -> Iterator[re.Match[str]]:
    """Return the phrases that begin on one line and end on the next."""
    first = CHANGE_OF_CASE.sub("_", line.rstrip())
    end = len(first)
    for found in matches(f"{line.rstrip()} {LINE_START.sub('', following)}"):
        if found.start() < end < found.end() - 1:
            yield found


def main(arguments: list[str]) -> int:
    faults = [fault for path in tracked(arguments) for fault in findings(path)]
    for fault in faults:
        print(fault)
    if faults:
        print(f"check_words: {len(faults)} in all", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
