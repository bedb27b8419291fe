"""What `dray gc run` tells, as text or JSON."""

from collections import Counter
from dataclasses import asdict

from dray.cli.gc_pass import Collected
from dray.cli.tables import table


def as_json(done: Collected, *, dry_run: bool) -> dict[str, object]:
    return {
        "dry_run": dry_run,
        "given_up": [asdict(trim) for trim in done.trims],
        "deleted": [{**asdict(one), "why": str(one.why)} for one in done.objects],
        "deleted_bytes": sum(one.size_bytes for one in done.objects),
        "waiting": done.waiting,
        "failures": done.failures,
    }


def as_text(done: Collected, *, dry_run: bool) -> str:
    lines = []
    if dry_run and done.objects:
        rows = [(one.size_bytes, str(one.why), one.path) for one in done.objects]
        lines += table(("bytes", "why", "object"), rows)
    would = "would give up" if dry_run else "gave up"
    lines += [
        f"{would} offsets {trim.start} to {trim.until - 1} of {trim.topic}, partition {trim.partition}: "
        f"{trim.came_bytes} bytes as they came"
        for trim in done.trims
    ]
    lines.append(_summary(done, dry_run=dry_run))
    if done.waiting:
        lines.append(
            f"left {_counted(len(done.waiting), 'given-up file')}: a compactor must first have seen that no "
            "table names them, not even a renamed one, and that it can read all tables. While a compactor "
            "runs they are deleted; files that it still has to take out of a table wait one grace more"
        )
    return "\n".join(lines)


def _summary(done: Collected, *, dry_run: bool) -> str:
    verb = "would delete" if dry_run else "deleted"
    if not done.objects:
        return f"{verb} nothing"
    size_bytes = sum(one.size_bytes for one in done.objects)
    kinds = Counter(one.why for one in done.objects)
    told = ", ".join(f"{count} because {why}" for why, count in sorted(kinds.items()))
    return f"{verb} {_counted(len(done.objects), 'object')} of {size_bytes} bytes: {told}"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
