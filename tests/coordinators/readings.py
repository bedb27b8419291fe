"""What the instruments of groups show."""

from dray.observe import Metrics

Reading = dict[tuple[str, ...], float]


def reading(metrics: Metrics, what: str) -> Reading:
    """Return the values of an instrument by its labels, without those that are 0."""
    (found,) = (one for one in metrics.instruments if one.name == f"dray_groups_{what}")
    (family,) = found.collect()
    return {
        tuple(sample.labels[label] for label in found.label_names): sample.value
        for sample in family.samples
        if sample.value
    }


def added(readings: list[Reading]) -> Reading:
    """Return what all brokers together show."""
    total: Reading = {}
    for one in readings:
        for labels, value in one.items():
            total[labels] = total.get(labels, 0) + value
    return total
