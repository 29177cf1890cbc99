"""A buffering decorator with a condition is reported, because the events of a row are then written out of order."""

import pytest

from ingest.catalog import Catalog
from tests.support.problems import chain_file, problems_of

PLUGIN = """\
from ingest.api import Example, FanOut, Buffered, Settings

class Late(FanOut[Settings]):
    "Buffer every event."

    kind = "late"
    examples = (Example("one"),)

    def decorate(self, event):
        return Buffered()

    def split_end(self):
        return []
"""
FILE = """\
version: 1
plugins: [late_plugin]
stores: {m: {memory: {}}}
pipelines:
  p:
    source: {kafka: {brokers: "localhost:9092", topics: [t]}}
    decorators:
      - DECORATOR
      - value: {attribute: "2hb_", value: "%{key}"}
    sinks: SINKS
"""
WHEN = "\"%{priority} == 'DEBUG'\""
REORDERED = (
    "reordered: warning: {} buffers events; events that do not match `when` bypass it and are written first, so an "
    "older value of a row may win; use only parts of the row key in `when`, or write the event's time: "
    "`timestamp: event`"
)


CELL = 'value: {attribute: "2hb_a:b", value: "%{body}"}'
BY_TIME = "[{attr2hbase: {table: t, timestamp: event}}]"
ONE_TIME = (
    "same-time: warning: every event of a file has the file's time, so `timestamp: event` gives all cells one time"
)


@pytest.fixture
def problems(tmp_path, monkeypatch):
    (tmp_path / "late_plugin.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "p.yaml"

    def found(decorator, sinks="[{attr2hbase: {table: t}}]"):
        path.write_text(FILE.replace("DECORATOR", decorator).replace("SINKS", sinks))
        return problems_of(path)

    return found


@pytest.mark.parametrize(
    ("decorator", "is_warned"),
    [("null_deco", True), ("truncate_time: {to: day}", True), ("timestamp", False), ("syslog", False)],
)
def test_event_time_of_a_file_is_a_warning_unless_a_decorator_sets_it(tmp_path, decorator, is_warned):
    path = tmp_path / "p.yaml"
    text = chain_file(decorator, 'value: {attribute: "2hb_", value: "%{topic}:%{offset}"}', CELL, sinks=BY_TIME)
    path.write_text(text.replace('kafka: {brokers: "localhost:9092", topics: [t]}', "files: {path: x.log}"))
    found = [problem.split(";")[0] for problem in problems_of(path)]
    assert found == ["10:48: " + ONE_TIME] * is_warned


@pytest.mark.parametrize(
    ("decorator", "expected"),
    [
        (f"reservoir_sampler: {{k: 5, when: {WHEN}}}", ["8:41: " + REORDERED.format("reservoir_sampler")]),
        (f"late: {{when: {WHEN}}}", ["8:22: " + REORDERED.format("late")]),
        ("reservoir_sampler: {k: 5}", []),
        ("""reservoir_sampler: {k: 5, when: "'a' == 'a'"}""", []),
        ("late", []),
        (f"first_n: {{max_events: 1, when: {WHEN}}}", []),
        (f"mult: {{n: 1, when: {WHEN}}}", []),
    ],
)
def test_buffering_decorator_with_a_condition_is_a_warning(problems, decorator, expected):
    assert [problem for problem in problems(decorator) if "buffers events" in problem] == expected


def test_warning_names_the_buffering_decorator_with_a_condition(problems):
    [warning] = problems(f"reservoir_sampler: {{k: 5}}\n      - late: {{when: {WHEN}}}")
    assert warning == "9:22: " + REORDERED.format("late")


@pytest.mark.parametrize(
    ("sinks", "count"),
    [
        ("[{attr2hbase: {table: t, timestamp: event}}]", 0),
        ("[{attr2hbase: {table: t, timestamp: event}}, {attr2hbase: {table: u, timestamp: event}}]", 0),
        ("[{attr2hbase: {table: t, timestamp: event}}, {attr2hbase: {table: u}}]", 1),
    ],
)
def test_order_does_not_matter_if_every_cell_has_the_event_time(problems, sinks, count):
    assert len(problems(f"reservoir_sampler: {{k: 5, when: {WHEN}}}", sinks)) == count


def test_catalog_knows_which_decorators_buffer_or_multiply_events():
    catalog = Catalog()
    assert [name for name in catalog.names("decorators") if catalog.holds_events(name)] == ["reservoir_sampler"]
    multiplying = [name for name in catalog.names("decorators") if catalog.makes_events(name)]
    assert multiplying == ["explode", "mult", "unbatch"]
