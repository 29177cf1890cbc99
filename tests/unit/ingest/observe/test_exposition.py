"""Values of a metric, from a page in Prometheus' text format."""

import math

import pytest

from ingest.observe.exposition import values_by_label

PAGE = rb"""# HELP stored_total Stored rows.
# TYPE stored_total counter
stored_total{pipeline="a \"quoted\" name"} 5.0
stored_total{pipeline="back\\slash"} 1e+09 1700000000000
stored_total{pipeline="full"} +Inf
stored_total{other="x"} 7
# TYPE other gauge
other{pipeline="a"} 3
"""


def test_labels_and_numbers_are_parsed() -> None:
    assert values_by_label(PAGE, "stored_total", "pipeline") == {
        'a "quoted" name': 5.0,
        "back\\slash": 1e9,
        "full": math.inf,
    }


def test_page_without_the_metric_has_no_values() -> None:
    assert values_by_label(b"up 1\n", "stored_total", "pipeline") == {}


@pytest.mark.parametrize("content", [b"<html>{</html>", b"up \xff"])
def test_page_of_another_format_is_an_error(content: bytes) -> None:
    with pytest.raises(ValueError):
        values_by_label(content, "stored_total", "pipeline")
