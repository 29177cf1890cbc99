"""Row keys that steps make, in whichever way: whether they vary, and whether a replay gives the same."""

import pytest

from tests.support.problems import problems_of

FILE = """\
version: 1
stores: {m: {memory: {}}}
pipelines:
  p:
    source: {kafka: {brokers: "localhost:9092", topics: [t]}}
    decorators:
      - STEP
    sinks: [{attr2hbase: {table: t}}]
"""
NANOS = "conflict: warning: only %{nanos} makes this row key vary"
SAME = "conflict: warning: this row key is the same for every event, so there is one row"


def problems(tmp_path, step):
    path = tmp_path / "p.yaml"
    path.write_text(FILE.replace("STEP", step))
    return problems_of(path)


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ('row_key: {parts: [{value: a}, {value: "%{nanos}", encoding: inverted}]}', f"7:26: {NANOS}"),
        ("row_key: {parts: [{value: a}, {value: b}], buckets: 4}", f"7:26: {SAME}"),
        ('row_key: {parts: [{value: "%{key}"}, {value: "%{nanos}"}]}', None),
        (
            'row_key: {attribute: x, parts: [{value: "%{nanos}"}]}',
            '8:14: conflict: warning: no step sets the attribute "2hb_" that the row key is taken from',
        ),
        ('template: {attributes: {"2hb_": "%{nanos}"}}', f"7:41: {NANOS}"),
        ('template: {attributes: {"2hb_": "k", x: "%{nanos}"}}', f"7:41: {SAME}"),
        ('template: {attributes: {"2hb_": "%{key}%{nanos}"}}', None),
        ('template: {attributes: {x: "%{nanos}"}}', None),
        ('template: {attributes: {"2hb_": "%{nanos}"}}\n      - row_key: {parts: [{value: "%{key}"}]}', None),
    ],
)
def test_a_key_that_does_not_vary_is_told(tmp_path, step, expected):
    found = problems(tmp_path, step)
    assert len(found) == (expected is not None)
    assert all(problem.startswith(str(expected)) for problem in found)
