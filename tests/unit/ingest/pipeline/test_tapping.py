"""Taps in a task: what they report, their bounds, and that an untapped task is as before."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from decorators.convert import Convert
from decorators.explode import Explode
from decorators.filter import Filter
from decorators.json import Json
from decorators.reservoir_sampler import ReservoirSampler
from decorators.template import Value
from ingest.api import DecorateError, OnError, Record, TaskSpec
from ingest.api.taps import Tap, TapCounts
from ingest.dry_run import InputLines
from ingest.masks import Masks
from ingest.pipeline.failures import Failure
from ingest.pipeline.tapping import MAX_BYTES, MAX_EVENTS, Tapping, TapView
from ingest.plan.assemble import live_task
from ingest.receipt import Receipt, TaskStatus, receipts_of
from ingest.testing.events import settings_of
from tests.support.parts import planned
from tests.support.plans import plan, sink


def part(kind: Any, text: str, name: str = "") -> Any:
    return planned(name or kind.kind, f"{kind.__module__}:{kind.__name__}", settings_of(kind.settings_class(), text))


CHAIN = (
    part(Json, "{}"),
    part(Filter, "{drop: \"%{level} == 'debug'\", reason: debug}"),
    part(Value, "{attribute: 2hb_, value: '%{key}'}", "key"),
    part(Value, "{attribute: '2hb_f:q', value: '%{level}'}", "cell"),
)


def task_of(*decorators: Any, **changed: Any) -> Any:
    return live_task(plan(sink("sink"), decorators=decorators or CHAIN, **changed))


@pytest.fixture
def run(spec: TaskSpec) -> Callable[..., Receipt]:
    """Run an event of each level through a task with taps."""

    def runs(task: Any, *taps: Tap, levels: Any = ("info", "debug", "error")) -> Receipt:
        records = [
            Record("t", 0, at, f"k{at}".encode(), json.dumps({"level": level}).encode(), 1_000)
            for at, level in enumerate(levels)
        ]
        receipt: Receipt = task.run(records, replace(spec, taps=taps))
        assert receipt.status is TaskStatus.DURABLE, receipt.message
        return receipt

    return runs


def lines(receipt: Receipt, tap: str = "a") -> list[dict[str, Any]]:
    return [json.loads(line) for name, line in receipt.tapped if name == tap]


def test_untapped_task_runs_the_chain_itself_before_and_after_a_tap(run):
    task = task_of()
    assert task._run_chain == task._chain.run
    run(task, Tap("a", "filter"), levels=["info"] * 3)
    assert task._run_chain != task._chain.run
    receipt = run(task)
    assert (task._run_chain, task._decode, task._selected_bindings) == (task._chain.run, *task._untapped[::2])
    assert receipt.tapped == []


def test_records_as_the_source_reads_them(run):
    found = lines(run(task_of(), Tap("a")))
    assert [each["record"]["offset"] for each in found] == [0, 1, 2]
    assert found[0]["record"] == {
        "value": '{"level": "info"}',
        "key": "k0",
        "headers": [],
        "topic": "t",
        "partition": 0,
        "offset": 0,
        "timestamp_ms": 1_000,
    }


def test_events_before_and_after_a_decorator(run):
    receipt = run(task_of(), Tap("a", "filter", is_before=True), Tap("b", "filter"), Tap("c", "key"))
    assert [each["attributes"] for each in lines(receipt)] == [{"level": level} for level in ("info", "debug", "error")]
    assert [each["attributes"]["level"] for each in lines(receipt, "b")] == ["info", "error"]
    assert [each["attributes"]["2hb_"] for each in lines(receipt, "c")] == ["k0", "k2"]


def test_events_and_records_are_what_explain_reads(run):
    receipt = run(task_of(), Tap("a"), Tap("b", "key"))
    assert len(list(InputLines(line for _, line in receipt.tapped))) == 5


def test_cells_of_a_sink(run):
    found = lines(run(task_of(), Tap("a", "sink", is_sink=True)))
    assert [(each["table"], each["row"], each["cells"]) for each in found] == [
        ("t", "k0", [["f", "q", "info"]]),
        ("t", "k2", [["f", "q", "error"]]),
    ]


def test_condition_selects_events_and_one_that_cannot_be_evaluated_selects_none(run):
    taps = Tap("a", where="%{key} == 'k1'"), Tap("b", "key", where="%{level} == 'error'"), Tap("c", where="%{no} > 1")
    receipt = run(task_of(), *taps)
    assert [each["record"]["offset"] for each in lines(receipt)] == [1]
    assert [each["offset"] for each in lines(receipt, "b")] == [2]
    assert lines(receipt, "c") == []


def test_events_that_a_condition_was_compared_with_are_counted(run):
    taps = Tap("a", "filter", where="%{level} == 'error' or %{level} == 'debug'"), Tap("b", "key")
    (found,) = run(task_of(), *taps).tap_counts.items()
    assert found == ("a", TapCounts(2, 1, attributes={"level"}))


def test_attribute_that_no_event_has_is_absent(run):
    taps = Tap("a", where="%{status} == '500'"), Tap("b", "key", where="%{2hb_} == 'k9' or exists(nope)")
    counts = run(task_of(), *taps).tap_counts
    assert counts["a"] == TapCounts(3, absent={"status"})
    assert counts["b"] == TapCounts(2, absent={"nope"}, attributes={"level", "2hb_"})


def test_attribute_that_one_event_has_is_not_absent(run):
    task = task_of(part(Json, "{}"), part(Filter, "{drop: \"%{level} != 'error'\"}", "only"), *CHAIN[2:])
    counts = run(task, Tap("a", "only", is_before=True, where="%{x} == '1'"), levels=["info"] * 30).tap_counts["a"]
    assert (counts.compared, counts.absent) == (30, {"x"})
    counts = run(task, Tap("a", "key", where="%{level} == '1'"), levels=["info", "error"]).tap_counts["a"]
    assert (counts.compared, counts.absent) == (1, set())


def test_reason_why_a_condition_cannot_be_evaluated_is_kept_and_masked(run):
    masks = Masks()
    masks.add("number")
    counts = run(task_of(masks=masks), Tap("a", "json", where="%{add(level, 1)} > 1")).tap_counts["a"]
    assert (counts.compared, counts.met, counts.failed) == (3, 0, 3)
    assert "***" in counts.error


FAILING = (part(Json, "{}"), part(Convert, "{attributes: [level], encode: int32}", "number"), *CHAIN[2:])


def test_failed_events_have_the_record_and_the_error(run):
    task = task_of(*FAILING)
    receipt = run(task, Tap("a", is_failed=True), levels=["5", "x"])
    (found,) = lines(receipt)
    assert found["record"]["offset"] == 1
    assert (found["component"], found["code"], found["on_error"]) == ("number", "not_a_number", "dead_letter")
    assert found["attributes"] == {"level": "x"}
    assert found["message"] == json.loads(receipt.dead_letters[0])["message"]
    (given,) = InputLines(line for _, line in receipt.tapped)
    assert given.record is not None
    assert (receipt.counts.stored, receipt.counts.dead_lettered) == (1, {"not_a_number": 1})


def test_message_of_a_failure_with_a_name_that_is_not_utf8_is_escaped():
    view = TapView("UTC", Masks(), dict)
    tapping = Tapping([Tap("a", is_failed=True)], view, batch_time_ms=1_000, on_full=lambda: None)
    tapping.failed(Record("t", 0, 0, b"k", b"v", 1), Failure(DecorateError("no \udcff"), "d", OnError.DROP))
    ((_, line),) = tapping.lines
    assert json.loads(line)["message"] == "no \\udcff"


def test_failed_events_run_through_the_parts_themselves(run):
    task = task_of(*FAILING)
    run(task, Tap("a", is_failed=True))
    assert (task._run_chain, task._decode, task._selected_bindings) == (task._chain.run, *task._untapped[::2])


def test_failed_events_of_one_component_and_with_a_condition(run):
    taps = (
        Tap("a", "number", is_failed=True),
        Tap("b", "source", is_failed=True),
        Tap("c", is_failed=True, where="%{level} == 'y'"),
    )
    receipt = run(task_of(*FAILING), *taps, levels=["x", "y", "5"])
    assert [[each["record"]["offset"] for each in lines(receipt, tap)] for tap in "abc"] == [[0, 1], [], [1]]
    assert receipt.tap_counts["c"] == TapCounts(2, 1, attributes={"level"})


def test_record_that_is_not_decoded_has_failed_in_the_source(spec):
    record = Record("t", 0, 0, b"k", b"x" * (2 << 20), 1_000)
    taps = Tap("a", "source", is_failed=True), Tap("b", is_failed=True, where="exists(x)")
    receipt = task_of().run([record], replace(spec, taps=taps))
    assert receipt.tap_counts["b"].failed == 1
    assert "not decoded" in receipt.tap_counts["b"].error


def test_times_of_components_are_measured_while_a_task_is_tapped(run):
    task = task_of()
    taps = Tap("a"), Tap("b", "filter"), Tap("c", "sink", is_sink=True)
    receipt = run(task, *taps, levels=["info"] * 19)
    assert task._run_chain != task._chain.run
    (calls,) = {each.times.calls for each in receipt.counts.components.values()}
    assert calls > 0
    assert [len(lines(receipt, tap)) for tap in "abc"] == [19] * 3


def test_secrets_are_masked(run):
    masks = Masks()
    masks.add("s3cret")
    (found,) = lines(run(task_of(masks=masks), Tap("a", "key"), levels=["s3cret"]))
    assert found["attributes"] == {"level": "***", "2hb_": "k0"}


def test_number_of_events_is_bounded_and_the_rest_runs_untapped(run):
    task = task_of()
    receipt = run(task, Tap("a", "key"), levels=["info"] * (MAX_EVENTS + 30))
    assert (len(lines(receipt)), receipt.counts.stored) == (MAX_EVENTS, MAX_EVENTS + 30)
    assert task._run_chain == task._chain.run


def test_bytes_are_bounded_and_a_larger_event_is_left_out(run):
    large = "x" * (MAX_BYTES // 4)
    receipt = run(task_of(), Tap("a"), levels=["y" * MAX_BYTES, large, large, large, large, "info"])
    assert 1 <= len(lines(receipt)) <= 3
    assert sum(len(line) for _, line in receipt.tapped) <= MAX_BYTES
    assert receipt.counts.stored == 6


def test_events_of_a_fan_out_and_after_a_buffer(spec):
    explode = part(Explode, "{form: separated, separator: ','}")
    sampler = part(ReservoirSampler, "{k: 5}", "sampler")
    last = part(Value, "{attribute: 2hb_, value: '%{body}'}", "key")
    cell = part(Value, "{attribute: '2hb_f:q', value: v}", "cell")
    task = task_of(explode, sampler, last, cell)
    taps = Tap("a", "explode", is_before=True), Tap("b", "explode"), Tap("c", "key")
    receipt = task.run([Record("t", 0, 0, b"k", b"one,two", 1_000)], replace(spec, taps=taps))
    bodies = {tap: [each["body"] for each in lines(receipt, tap)] for tap in "abc"}
    assert bodies == {"a": ["one,two"], "b": ["one", "two"], "c": ["one", "two"]}
    assert receipt.counts.stored == 2


def test_what_is_stored_is_the_same_with_a_tap(run):
    taps = Tap("a"), Tap("b", "filter"), Tap("c", "sink", is_sink=True)
    plain, tapped = (replace(run(task_of(), *each).counts, flush_s=[]) for each in ((), taps))
    assert plain == tapped


@pytest.mark.parametrize("tap", [Tap("a", "gone"), Tap("a", "gone", is_sink=True)])
def test_component_that_a_reload_has_removed_reports_nothing(run, tap):
    assert run(task_of(), tap).tapped == []


def test_receipt_carries_what_is_tapped(run):
    sent = run(task_of(), Tap("a"), Tap("b", "filter"))
    (received,) = receipts_of(sent.rows())
    assert received.tapped == sent.tapped
