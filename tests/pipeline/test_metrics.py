"""Everything that a compactor counts is shown, and is on the page."""

from prometheus_client.parser import text_string_to_metric_families

from dray.observe import Metrics
from dray.pipeline.metrics import CompactionMetrics
from scripts import metrics_page


def test_everything_on_the_page_is_shown_and_nothing_else() -> None:
    metrics = Metrics()
    CompactionMetrics.on(metrics)
    shown = {
        family.name: family.documentation
        for family in text_string_to_metric_families(metrics.render().decode())
    }
    on_the_page = {
        one.name.removesuffix("_total"): one.help_text for one in metrics_page.compactor_instruments()
    }
    assert shown == on_the_page
    page = metrics_page.as_markdown()
    assert all(f"| `{one.name}` |" in page for one in metrics_page.compactor_instruments())
