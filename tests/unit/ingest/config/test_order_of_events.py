"""A buffering decorator with a condition is reported, because the events of a row are then written out of order."""

import pytest

from ingest.catalog import Catalog
from tests.support.problems import chain_file, problems_of

PLUGIN = """\
from ingest.api import Example, FanOut, Buffered, Settings

class Late(FanOut[Settings]):
    "Hold every event."

    kind = "late"
    examples = (Example("one"),)

    def decorate(self, event):
        return Buffered()

    def split_end(self):
        return []
"""
FILE = """\
version: 1
plugins: [late_steps]
stores: {m: {memory: {}}}
pipelines:
  p:
    source: {kafka: {brokers: "localhost:9092", topics: [t]}}
    decorators:
      - STEP
      - value: {attribute: "2hb_", value: "%{key}"}
    sinks: SINKS
"""
WHEN = "\"%{priority} == 'DEBUG'\""
TOLD = (
    "reordered: warning: {} holds events, and those that do not meet `when` bypass it and are written first: an "
    "older value of a row may win; let `when` ask for what the row key is made of, or give cells the event's time: "
    "`timestamp: event`"
)


CELL = 'value: {attribute: "2hb_a:b", value: "%{body}"}'
BY_TIME = "[{attr2hbase: {table: t, timestamp: event}}]"
ONE_TIME = (
    "same-time: warning: every event of a file has the file's time, so `timestamp: event` gives all cells one time"
)


@pytest.fixture
def problems(tmp_path, monkeypatch):
    (tmp_path / "late_steps.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "p.yaml"

    def found(step, sinks="[{attr2hbase: {table: t}}]"):
        path.write_text(FILE.replace("STEP", step).replace("SINKS", sinks))
        return problems_of(path)

    return found


@pytest.mark.parametrize(
    ("step", "is_told"),
    [("null_deco", True), ("truncate_time: {to: day}", True), ("timestamp", False), ("syslog", False)],
)
def test_events_of_a_file_that_have_one_time_are_told(tmp_path, step, is_told):
    path = tmp_path / "p.yaml"
    text = chain_file(step, 'value: {attribute: "2hb_", value: "%{topic}:%{offset}"}', CELL, sinks=BY_TIME)
    path.write_text(text.replace('kafka: {brokers: "localhost:9092", topics: [t]}', "files: {path: x.log}"))
    found = [problem.split(";")[0] for problem in problems_of(path)]
    assert found == ["10:48: " + ONE_TIME] * is_told


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (f"reservoir_sampler: {{k: 5, when: {WHEN}}}", ["8:41: " + TOLD.format("reservoir_sampler")]),
        (f"late: {{when: {WHEN}}}", ["8:22: " + TOLD.format("late")]),
        ("reservoir_sampler: {k: 5}", []),
        ("""reservoir_sampler: {k: 5, when: "'a' == 'a'"}""", []),
        ("late", []),
        (f"first_n: {{max_events: 1, when: {WHEN}}}", []),
        (f"mult: {{n: 1, when: {WHEN}}}", []),
    ],
)
def test_step_that_holds_some_events_is_told(problems, step, expected):
    assert [problem for problem in problems(step) if "holds events" in problem] == expected


def test_of_two_steps_that_hold_the_one_with_a_condition_is_told(problems):
    [told] = problems(f"reservoir_sampler: {{k: 5}}\n      - late: {{when: {WHEN}}}")
    assert told == "9:22: " + TOLD.format("late")


@pytest.mark.parametrize(
    ("sinks", "count"),
    [
        ("[{attr2hbase: {table: t, timestamp: event}}]", 0),
        ("[{attr2hbase: {table: t, timestamp: event}}, {attr2hbase: {table: u, timestamp: event}}]", 0),
        ("[{attr2hbase: {table: t, timestamp: event}}, {attr2hbase: {table: u}}]", 1),
    ],
)
def test_order_is_no_matter_where_every_cell_has_the_time_of_its_event(problems, sinks, count):
    assert len(problems(f"reservoir_sampler: {{k: 5, when: {WHEN}}}", sinks)) == count


def test_catalog_knows_who_holds_events():
    catalog = Catalog()
    assert [name for name in catalog.names("decorators") if catalog.holds_events(name)] == ["reservoir_sampler"]
    makers = [name for name in catalog.names("decorators") if catalog.makes_events(name)]
    assert makers == ["explode", "mult", "unbatch"]
