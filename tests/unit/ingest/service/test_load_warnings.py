"""Warnings of rows that went as calls in place of files."""

import pytest
from structlog.testing import capture_logs

from ingest.receipt import Counts
from ingest.service.load_warnings import EVERY_S, LoadWarnings


class Clock:
    """Monotonic seconds, as the test sets them."""

    now_s = 5.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def warnings(clock: Clock) -> LoadWarnings:
    return LoadWarnings("p", clock)


def told(warnings: LoadWarnings, **chunks: int) -> list[tuple[str, str, int]]:
    """Table, first word of the reason and chunks of the warnings about a micro-batch; `t_refused=2` are its figures."""
    counts = Counts()
    counts.counted["rows", "t"] = 7
    for name, amount in chunks.items():
        table, figure = name.split("_")
        counts.counted[f"bulk_load_{figure}", table] = amount
    with capture_logs() as lines:
        warnings.durable(counts)
    assert {(line["log_level"], line["event"], line["pipeline"]) for line in lines} <= {
        ("warning", "rows went as calls in place of files", "p")
    }
    return [(line["table"], line["reason"].split()[0], line["chunks"]) for line in lines]


def test_warning_names_the_table_the_chunks_and_the_way_out(warnings: LoadWarnings) -> None:
    counts = Counts()
    counts.counted.update({("bulk_load_refused", "t"): 2, ("bulk_load_unstaged", "u"): 3, ("bulk_load_rows", "t"): 1})
    with capture_logs() as lines:
        warnings.durable(counts)
    assert [(line["table"], line["chunks"]) for line in lines] == [("t", 2), ("u", 3)]
    assert "Failed to complete bulk load" in lines[0]["reason"]
    assert "validate --connect" in lines[1]["reason"]


def test_loads_that_succeed_are_no_warning(warnings: LoadWarnings) -> None:
    assert told(warnings, t_rows=5, t_files=1, t_refused=0) == []


def test_table_is_warned_of_once_in_ten_minutes_for_each_reason(warnings: LoadWarnings, clock: Clock) -> None:
    assert told(warnings, t_refused=1) == [("t", "HBase", 1)]
    assert told(warnings, t_refused=2, t_unstaged=4, u_refused=1) == [("t", "`staging`", 4), ("u", "HBase", 1)]
    clock.now_s += EVERY_S - 1
    assert told(warnings, t_refused=3) == []
    clock.now_s += 1
    assert told(warnings, t_rows=1) == []
    assert told(warnings, t_refused=4) == [("t", "HBase", 2 + 3 + 4)]
    assert told(warnings, t_refused=1) == []
