"""Metrics of tables that are set again and again."""

from collections.abc import Mapping
from typing import Any

from structlog.testing import capture_logs

from ingest.api import StoreUnavailableError
from ingest.service.jobs.table_watch import TableWatch

FAILURE = "it cannot be measured"


def away() -> Mapping[str, int]:
    raise StoreUnavailableError("away")


def checked(*each: Mapping[str, Any] | None) -> list[Mapping[str, int]]:
    """What is set at checks of tables with these measures; None is a service that has not started."""
    found: list[Mapping[str, int]] = []
    shared = iter(each)
    watch = TableWatch("w", 60.0, lambda: next(shared), lambda of: of, found.append, failure=FAILURE)  # type: ignore[arg-type,return-value]
    for _ in each:
        watch.check()
    return found


def test_measures_of_all_tables_are_set():
    both = {"a": lambda: {"x": 1}, "b": lambda: {"y": 2, "z": 3}}
    assert checked(None, both, {}) == [{}, {"x": 1, "y": 2, "z": 3}, {}]


def test_table_that_cannot_be_measured_is_left_out_and_logged_once():
    measured = {"a": lambda: {"x": 1}}
    with capture_logs() as lines:
        found = checked({"b": away} | measured, {"b": away}, {"b": dict}, {"b": away})
    assert found == [{"x": 1}, {}, {}, {}]
    line = {"event": FAILURE, "log_level": "warning", "table": "b", "reason": "away"}
    assert lines == [line, line]
