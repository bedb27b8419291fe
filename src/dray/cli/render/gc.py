"""Output of `dray gc run`, as text and as JSON."""

from collections import Counter
from dataclasses import asdict

from dray.cli.render.formats import table
from dray.sweep.gc_pass import DeletedObject, GcReport


def as_json(done: GcReport, *, dry_run: bool) -> dict[str, object]:
    return {
        "dry_run": dry_run,
        "expired": [asdict(trim) for trim in done.trims],
        "deleted": [_object_json(one) for one in done.objects],
        "deleted_bytes": sum(one.size_bytes for one in done.objects),
        "waiting": done.waiting,
        "failures": done.failures,
    }


def _object_json(one: DeletedObject) -> dict[str, object]:
    return {"path": one.path, "size_bytes": one.size_bytes, "reason": str(one.reason)}


def as_text(done: GcReport, *, dry_run: bool) -> str:
    lines = []
    if dry_run and done.objects:
        rows = [(one.size_bytes, str(one.reason), one.path) for one in done.objects]
        lines += table(("bytes", "reason", "object"), rows)
    verb = "would expire" if dry_run else "expired"
    lines += [
        f"{verb} offsets {trim.start} to {trim.until - 1} of {trim.topic}, partition {trim.partition}: "
        f"{trim.ingested_bytes} bytes as produced"
        for trim in done.trims
    ]
    lines.append(_summary(done, dry_run=dry_run))
    if done.waiting:
        lines.append(
            f"kept {_counted(len(done.waiting), 'expired file')}: a compactor must first confirm that no "
            "table, not even a renamed one, references them. While a compactor runs they are deleted; files "
            "that it still has to remove from a table wait one more grace period"
        )
    return "\n".join(lines)


def _summary(done: GcReport, *, dry_run: bool) -> str:
    verb = "would delete" if dry_run else "deleted"
    if not done.objects:
        return f"{verb} nothing"
    size_bytes = sum(one.size_bytes for one in done.objects)
    kinds = Counter(one.reason for one in done.objects)
    reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(kinds.items()))
    return f"{verb} {_counted(len(done.objects), 'object')} ({size_bytes} bytes): {reasons}"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
