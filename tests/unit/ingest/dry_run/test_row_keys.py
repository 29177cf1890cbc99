"""Row keys that pipelines write, by table."""

from decorators.filter import Filter
from decorators.template import Value
from ingest.api import Record
from ingest.config.test_cases import Given
from ingest.dry_run import DryRun, given_of_record
from ingest.dry_run.row_keys import RowKeySample
from tests.support.plans import decorator, plan, sink

DECORATORS = (
    decorator(Filter, drop="%{body} == 'drop'"),
    decorator(Value, attribute="2hb_", value="%{body}"),
    decorator(Value, attribute="2hb_f:q", value="v"),
)


def records(*times_and_bodies, partition=0):
    for offset, (time_ms, body) in enumerate(times_and_bodies):
        yield given_of_record(Record("t", partition, offset, None, body, time_ms))


def test_keys_by_table_and_outcomes():
    sample = RowKeySample()
    both = sink(), sink("second", table="other", when="%{body} != 'a'")
    sample.add(DryRun(plan(*both, decorators=DECORATORS)), [Given(body=body) for body in ("b", "a", "drop", "b")])
    assert sample.by_table() == {("logs", "other"): [b"b", b"b"], ("logs", "t"): [b"b", b"a", b"b"]}
    assert sample.outcomes == {"kept": 3, "dropped": 1}


def test_keys_are_in_the_order_of_the_records_timestamps():
    sample = RowKeySample()
    dry_run = DryRun(plan(decorators=DECORATORS))
    sample.add(dry_run, [*records((1, b"a"), (5, b"d")), *records((2, b"b"), (5, b"e"), (4, b"c"), partition=1)])
    sample.add(dry_run, records((3, b"\xff")))
    assert sample.by_table() == {("logs", "t"): [b"a", b"b", b"\xff", b"c", b"d", b"e"]}


def test_deletes_count_as_writes():
    sample = RowKeySample()
    rules = [{"delete": "row", "when": "%{body} == 'k'"}]
    dry_run = DryRun(plan(sink(rules=rules), decorators=DECORATORS))
    sample.add(dry_run, [Given(body="k")])
    assert sample.by_table() == {("logs", "t"): [b"k"]}


def test_progress_is_the_number_of_events():
    seen = []
    RowKeySample().add(DryRun(plan(decorators=DECORATORS)), records((1, b"a"), (1, b"drop")), seen.append)
    assert seen == [1, 2]
