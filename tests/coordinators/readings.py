"""Values of the group metrics."""

from dray.observe import Metrics

Reading = dict[tuple[str, ...], float]


def reading(metrics: Metrics, name: str) -> Reading:
    """Return the values of an instrument by labels, without zeros."""
    (found,) = (one for one in metrics.instruments if one.name == f"dray_groups_{name}")
    (family,) = found.collect()
    return {
        tuple(sample.labels[label] for label in found.label_names): sample.value
        for sample in family.samples
        if sample.value
    }


def added(readings: list[Reading]) -> Reading:
    """Return the sums over several readings."""
    total: Reading = {}
    for one in readings:
        for labels, value in one.items():
            total[labels] = total.get(labels, 0) + value
    return total
