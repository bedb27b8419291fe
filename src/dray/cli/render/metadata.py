"""Output of `dray metadata`, as text and as JSON."""

from dray.backup.restore import Restored
from dray.backup.save import Saved
from dray.backup.verify import VerifyReport
from dray.cli.render.formats import iso, table


def saved_text(saved: Saved) -> str:
    return f"saved {saved.records:,} keys ({saved.size_bytes:,} bytes) to {saved.name}"


def restored_text(restored: Restored, metadata: str) -> str:
    header = restored.header
    return (
        f"restored {restored.records:,} keys of cluster {restored.cluster_id} into {metadata}, as of "
        f"{iso(header.created_at_ms)}"
    )


def report_json(report: VerifyReport) -> dict[str, object]:
    header = report.header
    return {
        "backup": header.backup_id,
        "created_at": iso(header.created_at_ms),
        "version": header.version,
        "store": header.store,
        "cluster_id": report.cluster.cluster_id,
        "domains": report.cluster.domains,
        "generation": report.cluster.generation,
        "families": [
            {"keys": path, "count": count, "bytes": report.family_bytes[path]}
            for path, count in sorted(report.families.items())
        ],
        "problem_count": report.problem_count,
        "problems": report.problems,
    }


def report_text(report: VerifyReport) -> str:
    header, cluster = report.header, report.cluster
    rows = [(path, count, report.family_bytes[path]) for path, count in sorted(report.families.items())]
    title = f"backup {header.backup_id} of cluster {cluster.cluster_id}, made {iso(header.created_at_ms)}"
    lines = [f"{title} from {header.store} by Dray {header.version}"]
    lines += [*table(("keys", "count", "bytes"), rows), *report.problems]
    if report.problem_count > len(report.problems):
        lines.append(f"and {report.problem_count - len(report.problems)} more")
    if not report.problem_count:
        lines.append(f"{sum(report.families.values()):,} keys, all valid")
    return "\n".join(lines)
