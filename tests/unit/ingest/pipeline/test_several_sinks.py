"""Several sinks in one pipeline: conditions, error policies and counts."""

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from ingest.api import Decoding, FamilySpec, OnError, Record, Scan, TableSpec, Tombstones
from ingest.config.model import Component
from ingest.dead_letters.envelope import DeadLetter
from ingest.dry_run import DryRun
from ingest.plan.assemble import live_task
from ingest.plan.plan import Plan
from ingest.receipt import Receipt, TaskStatus
from sinks.mapping.hbase import HBase
from sinks.memory import MemorySettings, MemoryStore
from tests.support.parts import planned
from tests.support.without_spark import apply_results


def sink(name: str, value: str, *, on_error: OnError = OnError.DEAD_LETTER, **options: object) -> Component[Any]:
    """A sink that writes one number to the row `NAME-KEY`."""
    cell = {"family": "f", "qualifier": name, "value": value, "encoding": "int64"}
    content = {"store": "logs", "table": "t", "row_key": {"template": f"{name}-%{{key}}"}, "cells": [cell]}
    settings = HBase.settings_class().model_validate(content | options)
    return planned(name, "sinks.mapping.hbase:HBase", settings, on_error)


def plan(*sinks: Component[Any], **decoding: object) -> Plan:
    return Plan(
        pipeline="p",
        fingerprint="f",
        timezone="UTC",
        on_error=OnError.DEAD_LETTER,
        decoding=Decoding(**decoding),
        decorators=(),
        sinks=sinks,
        stores={"logs": planned("logs", "sinks.memory:MemoryStore", MemorySettings())},
    )


def record(value: str | None, offset: int = 0, **headers: str) -> Record:
    pairs = tuple((name, text.encode()) for name, text in headers.items())
    return Record("ticks", 3, offset, b"k", None if value is None else value.encode(), 1_000, pairs)


@pytest.fixture
def run(spec):
    def runs(of: Plan, *records: Record) -> Receipt:
        return live_task(of).run(records, spec)

    return runs


def dead_letters_of(receipt: Receipt) -> list[DeadLetter]:
    return [DeadLetter.from_json(line) for line in receipt.dead_letters]


def rows_of(receipt: Receipt) -> list[bytes]:
    store = MemoryStore(MemorySettings())
    store.open()
    store.ensure_table(TableSpec("t", (FamilySpec(b"f"),)))
    apply_results(store, receipt)
    return [row.key for row in store.scan("t", Scan())]


def test_event_that_one_sink_refuses_is_stored_by_the_other_and_counts_once(run):
    receipt = run(plan(sink("a", "%{n}"), sink("b", "%{body}")), record("1", n="x"))
    (dead_letter,) = dead_letters_of(receipt)
    assert (dead_letter.component, dead_letter.key) == ("a", b"ticks/3/0/0/a")
    assert (receipt.counts.read, receipt.counts.stored, receipt.counts.partly_stored) == (1, 0, 1)
    assert receipt.counts.has_stored
    assert receipt.counts.dead_lettered_by == Counter({("not_a_number", "a"): 1})
    assert receipt.counts.dead_lettered == Counter(not_a_number=1)
    assert rows_of(receipt) == [b"b-k"]


@pytest.mark.parametrize("first_fails", [True, False])
def test_order_of_the_sinks_does_not_matter(run, first_fails):
    both = [sink("a", "%{n}"), sink("b", "%{body}")]
    receipt = run(plan(*(both if first_fails else reversed(both))), record("1", n="x"))
    assert ([dead_letter.component for dead_letter in dead_letters_of(receipt)], rows_of(receipt)) == (["a"], [b"b-k"])


def test_each_sink_that_refuses_an_event_has_a_dead_letter_with_its_own_key(run):
    receipt = run(plan(sink("a", "%{n}"), sink("b", "%{body}"), sink("c", "%{n}")), record("x", 7, n="1"), record("x"))
    dead_letters = dead_letters_of(receipt)
    assert [dead_letter.key for dead_letter in dead_letters] == [
        b"ticks/3/7/0/b",
        b"ticks/3/0/0/a",
        b"ticks/3/0/0/b",
        b"ticks/3/0/0/c",
    ]
    assert len({dead_letter.key for dead_letter in dead_letters}) == len(dead_letters)
    assert (receipt.counts.read, receipt.counts.stored) == (2, 0)
    assert receipt.counts.dead_lettered == Counter(not_a_number=2)


def test_error_policy_applies_to_its_own_sink(run):
    dropping = plan(sink("a", "%{n}", on_error=OnError.DROP), sink("b", "%{body}"))
    receipt = run(dropping, record("1", n="x"))
    assert (dead_letters_of(receipt), receipt.counts.dropped, rows_of(receipt)) == ([], Counter(on_error=1), [b"b-k"])
    stopping = plan(sink("a", "%{n}", on_error=OnError.STOP), sink("b", "%{body}"))
    receipt = run(stopping, record("1", 9, n="x"))
    assert (receipt.status, '"a" refused event ticks/3/9' in receipt.message) == (TaskStatus.STOP, True)


def test_event_that_is_dropped_and_dead_lettered_counts_once(run):
    """Read = stored + dropped + dead-lettered."""
    for rules in ((OnError.DROP, OnError.DEAD_LETTER), (OnError.DEAD_LETTER, OnError.DROP)):
        both = plan(sink("a", "%{n}", on_error=rules[0]), sink("b", "%{n}", on_error=rules[1]))
        receipt = run(both, record("1", n="x"))
        counts = receipt.counts
        assert len(receipt.dead_letters) == 1
        assert counts.read == counts.stored + counts.dropped.total() + counts.dead_lettered.total() == 1


def test_sink_writes_only_events_that_meet_its_condition(run):
    chosen = plan(sink("a", "%{n}", when="exists(n)"), sink("b", "%{body}", when="%{body} != 'x'"))
    receipt = run(chosen, record("1", 0, n="1"), record("1", 1), record("x", 2, n="1"), record("x", 3))
    assert (receipt.counts.read, receipt.counts.stored, receipt.counts.dropped) == (4, 3, Counter(no_sink=1))
    assert rows_of(receipt) == [b"a-k", b"b-k"]


def test_one_sink_deletes_a_row_and_the_other_does_not(run):
    rules = [{"when": "%{body} == '0'", "delete": "row"}]
    receipt = run(plan(sink("a", "%{body}", rules=rules), sink("b", "%{body}")), record("1", 0), record("0", 1))
    assert (receipt.counts.stored, rows_of(receipt)) == (2, [b"b-k"])


def test_mutations_of_several_sinks_apply_in_the_order_of_the_events(spec):
    """All cells of a micro-batch have one time, so only the order of the events determines the last one."""
    same = {"row_key": {"template": "%{key}"}, "cells": [{"family": "f", "qualifier": "q", "value": "%{body}"}]}
    sinks = [
        sink("first", "", when="%{to} == 'first'", **same),
        sink("second", "", when="%{to} == 'second'", **same),
        sink("third", "", when="%{to} == 'third'", rules=[{"when": "exists(to)", "delete": "row"}], **same),
    ]
    orders = ["first second", "second first", "first third", "third second", "first third second", "second third first"]
    records = [
        record(f"{order}-{to}", offset, to=to)._replace(key=str(row).encode())
        for offset, (row, order, to) in enumerate(
            (row, order, to) for row, order in enumerate(orders) for to in order.split()
        )
    ]
    for pipeline in (plan(*sinks), plan(*reversed(sinks)), plan(*sinks[:2])):
        receipt = live_task(pipeline).run(records, spec)
        store = MemoryStore(MemorySettings())
        store.open()
        store.ensure_table(TableSpec("t", (FamilySpec(b"f"),)))
        apply_results(store, receipt)
        found = {int(row.key): row.cells[0].value.decode() for row in store.scan("t", Scan())}
        has_deletes = len(pipeline.sinks) == 3
        expected = {
            row: f"{order}-{written[-1]}"
            for row, order in enumerate(orders)
            if (written := [to for to in order.split() if has_deletes or to != "third"])[-1] != "third"
        }
        assert found == expected


def test_tombstone_deletes_in_every_sink(run):
    receipt = run(
        plan(sink("a", "%{body}"), sink("b", "%{body}"), tombstones=Tombstones.DELETE), record("1"), record(None, 1)
    )
    assert (receipt.counts.stored, rows_of(receipt)) == (2, [])


def only_into(spec, *names):
    return replace(spec, sinks_by_record={record("1").place: frozenset(names)})


class TestSomeSinks:
    """A replay writes a record only to the sinks that refused it."""

    def test_record_is_written_only_to_its_sinks(self, spec):
        task = live_task(plan(sink("a", "%{body}"), sink("b", "%{body}")))
        receipt = task.run([record("1"), record("2", 1), record("3", 2)], only_into(spec, "b"))
        assert (receipt.counts.rows_sent, rows_of(receipt)) == (5, [b"a-k", b"b-k"])

    def test_other_sinks_neither_write_nor_fail(self, spec):
        task = live_task(plan(sink("a", "%{n}"), sink("b", "%{body}"), sink("c", "%{body}")))
        receipt = task.run([record("1", n="x")], only_into(spec, "b"))
        assert (receipt.dead_letters, receipt.counts.stored, rows_of(receipt)) == ([], 1, [b"b-k"])
        receipt = task.run([record("1", n="x")], only_into(spec, "a", "c"))
        assert ([dead_letter.component for dead_letter in dead_letters_of(receipt)], rows_of(receipt)) == (
            ["a"],
            [b"c-k"],
        )

    def test_next_run_uses_all_sinks_again(self, spec):
        task = live_task(plan(sink("a", "%{body}"), sink("b", "%{body}")))
        task.run([record("1")], only_into(spec, "a"))
        assert rows_of(task.run([record("1", 1)], spec)) == [b"a-k", b"b-k"]

    def test_families_of_other_sinks_are_not_created(self, spec):
        task = live_task(plan(sink("a", "%{body}", table="elsewhere"), sink("b", "%{body}")))
        assert task.run([record("1")], spec).status is TaskStatus.RUN_AGAIN
        receipt = task.run([record("1")], only_into(spec, "b"))
        assert (receipt.status, rows_of(receipt)) == (TaskStatus.DURABLE, [b"b-k"])


class TestDryRun:
    """The same in a dry run."""

    @staticmethod
    def line(*sinks, **given):
        content = {"body": "1", "key": "k", "attributes": given}
        (output,) = DryRun(plan(*sinks)).run([content])
        return json.loads(output.to_json())

    def test_error_names_the_sink_that_refuses_and_the_other_writes(self):
        line = self.line(sink("a", "%{n}"), sink("b", "%{body}"), n="x")
        assert (line["outcome"], line["error"]["code"], line["error"]["decorator"]) == ("failed", "not_a_number", "a")
        assert [(put["sink"], put["row"]) for put in line["puts"]] == [("b", "b-k")]

    def test_each_refusal_has_an_entry_and_the_first_is_the_error(self, run):
        sinks = (sink("a", "%{n}"), sink("b", "%{body}"), sink("c", "%{missing}"))
        line = self.line(*sinks, n="x")
        refusals = [(refusal["sink"], refusal["code"]) for refusal in line["refusals"]]
        dead_letters = dead_letters_of(run(plan(*sinks), record("1", n="x")))
        assert refusals == [(dead_letter.component, dead_letter.code) for dead_letter in dead_letters]
        assert refusals == [("a", "not_a_number"), ("c", "not_a_number")]
        assert line["error"] == {
            "code": "not_a_number",
            "message": line["refusals"][0]["message"],
            "decorator": "a",
        }
        assert [put["sink"] for put in line["puts"]] == ["b"]

    def test_sink_writes_only_events_that_meet_its_condition(self):
        sinks = (sink("a", "%{n}", when="exists(n)"), sink("b", "%{body}", when="%{body} == '2'"))
        assert [put["sink"] for put in self.line(*sinks, n="1")["puts"]] == ["a"]
        assert (self.line(*sinks)["outcome"], self.line(*sinks)["reason"]) == ("dropped", "no_sink")

    def test_binary_cells_are_shown_as_base64(self):
        (put,) = self.line(sink("a", "%{n}"), n="255")["puts"]
        assert put["cells"] == [["f", "a", {"b64": "AAAAAAAAAP8="}]]
        (put,) = self.line(sink("a", "%{n}"), n="65")["puts"]
        assert put["cells"] == [["f", "a", "\0\0\0\0\0\0\0A"]]
