"""Reads the page `/metrics` of a process."""

from prometheus_client.parser import text_string_to_metric_families


def values_by_label(content: bytes, name: str, label: str) -> dict[str, float]:
    """
    The values of a metric with one label.

    Args:
        content: a page in Prometheus' text exposition format 0.0.4, in UTF-8.
        name: of the metric, with its suffix.
        label: its label.

    Returns:
        Value of the label -> value of the metric; empty if the page has no such metric.

    Raises:
        ValueError: the page has another format.
    """
    return {
        sample.labels[label]: sample.value
        for family in text_string_to_metric_families(content.decode())
        for sample in family.samples
        if sample.name == name and label in sample.labels
    }
