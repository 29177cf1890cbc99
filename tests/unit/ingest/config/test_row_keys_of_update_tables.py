"""Row keys of tables with deferred updates: events may share one, but it must not differ on replay."""

import pytest

from tests.support.problems import chain_file, problems_of

SAME = "this row key is the same for every event"
UPDATES = "tables: {hits: {families: {f: {}}, updates: {processor: sum}}}\n"


def sink(row_key: str, table: str = "hits") -> str:
    cells = '[{family: f, qualifier: q, value: "1"}]'
    return f'hbase: {{table: {table}, row_key: {{template: "{row_key}"}}, cells: {cells}}}'


def problems(tmp_path, *decorators, sinks):
    path = tmp_path / "p.yaml"
    path.write_text(chain_file(*decorators, sinks="[" + ", ".join(f"{{{each}}}" for each in sinks) + "]") + UPDATES)
    return problems_of(path)


@pytest.mark.parametrize("row_key", ["total", "%{key}", "%{truncate_time('hour')}", "%{nanos}"])
def test_row_key_may_be_that_of_many_events(tmp_path, row_key):
    assert problems(tmp_path, sinks=[sink(row_key)]) == []


def test_events_made_of_one_event_may_share_a_row(tmp_path):
    assert problems(tmp_path, "explode: {}", sinks=[sink("%{key}")]) == []


def test_row_key_of_another_table_is_checked(tmp_path):
    (problem,) = problems(tmp_path, sinks=[sink("total"), sink("total", "latest")])
    assert SAME in problem


def test_key_that_a_table_of_values_has_too_is_checked(tmp_path):
    decorators = ['value: {attribute: "2hb_", value: total}', 'value: {attribute: "2hb_f:q", value: "1"}']
    sinks = ["attr2hbase: {table: hits}", "attr2hbase: {table: latest}"]
    assert problems(tmp_path, *decorators, sinks=sinks[:1]) == []
    (problem,) = problems(tmp_path, *decorators, sinks=sinks)
    assert SAME in problem
