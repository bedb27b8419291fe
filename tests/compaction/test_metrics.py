"""Metrics of a compactor: the documentation page matches what is exported."""

from prometheus_client.parser import text_string_to_metric_families

from dray.compaction.metrics import CompactionMetrics
from dray.observe import Metrics
from scripts import metrics_page


def test_metrics_page_lists_exactly_the_exported_metrics() -> None:
    metrics = Metrics()
    CompactionMetrics.on(metrics)
    exported = {
        family.name: family.documentation
        for family in text_string_to_metric_families(metrics.render().decode())
    }
    on_the_page = {
        one.name.removesuffix("_total"): one.help_text for one in metrics_page.compactor_instruments()
    }
    assert exported == on_the_page
    page = metrics_page.as_markdown()
    assert all(f"| `{one.name}` |" in page for one in metrics_page.compactor_instruments())
