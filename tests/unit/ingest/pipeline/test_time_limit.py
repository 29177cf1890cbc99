"""Calls that do not return: each is interrupted, its event fails, and the task continues."""

import itertools
import json
import re
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from decorators.template import Value, ValueSettings
from ingest.api import Event, FanOut, OnError, Record, Settings
from ingest.catalog import Catalog
from ingest.config import load
from ingest.dead_letters.envelope import DeadLetter
from ingest.dry_run import DryRun
from ingest.pipeline.chain import Chain
from ingest.pipeline.outcomes import BoundDecorator, Failed
from ingest.pipeline.time_limit import MAX_ENDED, TICKS, OutOfTimeError, TimeLimit, WaitedTooLongError
from ingest.plan.assemble import live_task, plan_of
from ingest.plan.plan import Plan
from ingest.receipt import TaskStatus
from sinks.archive import task_writer
from sinks.archive.row_files import RowFile
from tests.support.parts import planned as planned_part

ROW_KEY = {"value": {"attribute": "2hb_", "value": "%{key}"}}
CELL = {"value": {"attribute": "2hb_f:x", "value": "1"}}
NEVER = r"(a+)+$"
EVIL = b"a" * 60 + b"!"
FIELDS = r"^(?P<host>(?:[0-9A-Za-z]+[.-]?)+) (?P<user>\S+)$"  # as in a library of named patterns


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Tens of milliseconds instead of seconds."""
    monkeypatch.setitem(TimeLimit.__init__.__kwdefaults__, "tick_s", 0.01)


@pytest.fixture
def planned(tmp_path):
    """The plan of a pipeline with these decorators and options of its sink."""

    def make(*decorators: dict, **sink: object) -> Plan:
        file = tmp_path / "pipeline.yaml"
        content = {
            "version": 1,
            "stores": {"logs": {"memory": {}}},
            "pipelines": {
                "p": {
                    "source": {"files": {"path": "x"}},
                    "decorators": [*decorators, CELL, ROW_KEY],
                    "sinks": [{"attr2hbase": {"table": "t", **sink}}],
                }
            },
        }
        file.write_text(json.dumps(content))
        configuration = load(file, env={}, lookup=Catalog())
        return plan_of(configuration, configuration.pipelines["p"], Catalog())

    return make


def records(*bodies: bytes) -> list[Record]:
    return [Record("t", 0, number, b"k%d" % number, body, 0) for number, body in enumerate(bodies)]


@pytest.mark.parametrize(
    "decorator",
    [
        {"regex": {"pattern": f"(?P<x>{NEVER})"}},
        {"split": {"separator": NEVER, "index": 0, "attribute": "x"}},
        {"value": {"attribute": "x", "value": f"%{{replace_pattern(%{{body}}, '{NEVER}', '')}}"}},
        {"value": {"attribute": "x", "value": f"%{{extract(body, '{NEVER}')}}"}},
        {"value": {"attribute": "x", "value": "1", "when": f"%{{body}} matches '{NEVER}'"}},
        {"value": {"attribute": "x", "value": "1", "when": f"%{{n}} == 1 or not (%{{body}} not matches '{NEVER}')"}},
        {"regex": {"pattern": FIELDS}},
        {"grok": {"definitions": {"AS": "(a+)+"}, "patterns": ["^%{AS:x}$"], "on_no_match": "keep"}},
        {"regex": {"pattern": r"^(a|aa)+\1?$", "attributes": ["x"]}},
        {"regex": {"pattern": r"^(?=((?:a|a)*))(?:a|a)*[b-z]", "attributes": ["x"]}},
    ],
    ids=[
        "regex",
        "split",
        "expression",
        "extract",
        "condition",
        "condition-with-parts",
        "regex-of-named-fields",
        "grok",
        "regex-with-back-reference",
        "regex-with-look-around",
    ],
)
def test_pattern_that_backtracks_fails_only_its_events(planned, spec, decorator):
    task = live_task(planned(decorator))
    receipt = task.run(records(b"a", EVIL, b"b", EVIL, b"c"), spec)
    assert receipt.status is TaskStatus.DURABLE, receipt.message
    assert (receipt.counts.read, receipt.counts.stored) == (5, 3)
    assert receipt.counts.dead_lettered == Counter(decorator_timeout=2)
    dead_letters = [DeadLetter.from_json(line) for line in receipt.dead_letters]
    assert [each.record.offset for each in dead_letters] == [1, 3]
    assert {each.component.partition("#")[0] for each in dead_letters} == set(decorator)
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


@pytest.mark.parametrize("when", [None, f"%{{body}} matches '{NEVER}'"], ids=["decorator", "condition"])
def test_pattern_behind_a_fan_out_fails_only_the_events_it_hangs_for(planned, spec, when):
    """With a fan-out a chain runs one decorator after another, and each condition is guarded."""
    decorator = {"value": {"attribute": "x", "value": f"%{{extract(body, '{NEVER}')}}"}}
    if when is not None:
        decorator = {"value": {"attribute": "x", "value": "1", "when": when}}
    receipt = live_task(planned({"mult": {"n": 2}}, decorator)).run(records(b"a", EVIL, b"b"), spec)
    assert (receipt.status, receipt.counts.stored) == (TaskStatus.DURABLE, 4)
    assert receipt.counts.dead_lettered == Counter(decorator_timeout=2)


def test_rule_of_a_sink_that_does_not_return_fails_the_event(planned, spec):
    plan = planned(rules=[{"when": f"%{{body}} matches '{NEVER}'", "write_to_wal": False}])
    receipt = live_task(plan).run(records(b"", EVIL), spec)
    assert (receipt.status, receipt.counts.dead_lettered) == (TaskStatus.DURABLE, Counter(sink_timeout=1))


def test_dry_run_interrupts_calls_as_the_service_does(planned):
    """`attr2hbase explain` is where a user looks for the decorator that hangs."""
    given = [{"body": "b", "key": "k"}, {"body": EVIL.decode(), "key": "k"}]
    for plan, code in (
        (planned({"regex": {"pattern": f"(?P<x>{NEVER})"}}), "decorator_timeout"),
        (planned(when=f"not %{{body}} matches '{NEVER}'"), "sink_timeout"),
        (planned(rules=[{"when": f"%{{body}} matches '{NEVER}'", "write_to_wal": False}]), "sink_timeout"),
    ):
        lines = [output.line for output in DryRun(plan).run(given)]
        assert [line["error"] and line["error"]["code"] for line in lines] == [None, code]


def test_condition_of_a_sink_that_does_not_return_fails_the_event(planned, spec):
    plan = planned(when=f"not %{{body}} matches '{NEVER}'")
    receipt = live_task(plan).run(records(b"", EVIL), spec)
    assert (receipt.status, receipt.counts.dead_lettered) == (TaskStatus.DURABLE, Counter(sink_timeout=1))


def test_mapping_that_does_not_return_fails_the_event(planned, spec):
    plan = planned({"json": {"prefix": "2hb_f:"}}, columns={"name_pattern": "(a+)+|x"})
    receipt = live_task(plan).run(records(b"{}", json.dumps({EVIL.decode(): 1}).encode()), spec)
    assert (receipt.status, receipt.counts.dead_lettered) == (TaskStatus.DURABLE, Counter(sink_timeout=1))


def test_search_of_10_mb_is_interrupted():
    """Python's `re` asks for signals every few thousand operations; one operation is at most one pass over the text."""
    pattern = re.compile(rb"\w+\s+\w+\s+=")

    def search() -> None:
        pattern.search(b"a " * 5_000_000)

    with TimeLimit([search]) as limit, pytest.raises(OutOfTimeError):
        search()
    assert limit.ended == 1


class Loop(Value):
    """Never returns for one event, and catches every exception it can."""

    def decorate(self, event: Event) -> bool:
        while event.body == EVIL:
            try:
                time.sleep(0.001)
                self._parse(event.body)
            except Exception:  # noqa: BLE001, S110 - the behaviour under test
                pass
        return super().decorate(event)

    def _parse(self, body: bytes) -> None:
        raise ValueError(body)


def with_decorator(plan: Plan, decorator: type) -> Plan:
    sys.modules["slow_decorators"] = sys.modules[__name__]
    part = planned_part(
        "slow", f"slow_decorators:{decorator.__name__}", plan.decorators[0].settings, OnError.DEAD_LETTER
    )
    return replace(plan, decorators=(part, *plan.decorators))


def test_loop_that_catches_exceptions_is_interrupted(planned, spec):
    receipt = live_task(with_decorator(planned(), Loop)).run(records(b"a", EVIL, b"b"), spec)
    assert (receipt.status, receipt.counts.stored) == (TaskStatus.DURABLE, 2)
    assert receipt.counts.dead_lettered == Counter(decorator_timeout=1)


def test_too_many_timeouts_stop_the_pipeline(planned, spec):
    receipt = live_task(with_decorator(planned(), Loop)).run(records(*[EVIL] * (MAX_ENDED + 5)), spec)
    assert (receipt.status, receipt.code) == (TaskStatus.STOP, "timeouts")
    assert '"slow"' in receipt.message
    assert "attr2hbase explain" in receipt.message


class Copies(FanOut[Settings]):
    kind = "copies"

    def __init__(self) -> None:
        super().__init__(Settings())

    def decorate(self, event: Event) -> Iterator[Event]:
        for number in itertools.count():
            if number == 3 and event.body != EVIL:
                return
            time.sleep(0.001)
            if number < 3:
                yield Event(event.body, {}, origin=event.origin)


def test_fan_out_that_never_ends_is_one_failed_event():
    chain = Chain([BoundDecorator(Copies(), "copies")])
    with TimeLimit(chain.guarded):
        [failed] = chain.run(Event(EVIL))
        kept = chain.run(Event(b"a"))
    assert isinstance(failed, Failed)
    assert (failed.error.code, failed.component) == ("decorator_timeout", "copies")
    assert [type(each) for each in kept] == [Event] * 3


def tick() -> None:
    """A tick of the limit that is entered now, if there is one."""
    if callable(signal.getsignal(signal.SIGALRM)):
        signal.raise_signal(signal.SIGALRM)


class TickingError(Exception):
    """The timer ticks while the chain describes it."""

    def __str__(self) -> str:
        for _ in range(2 * TICKS):
            tick()
        return "described"


class Fails(Value):
    def decorate(self, event: Event) -> bool:
        raise TickingError


class Repeats(Value):
    """Calls the method that it overrides again and again."""

    def decorate(self, event: Event) -> bool:
        for _ in range(10 * TICKS):
            super().decorate(event)
            tick()
        return True


def bound_to(kind: type[Value]) -> BoundDecorator:
    return BoundDecorator(kind(ValueSettings.model_validate({"attribute": "x", "value": "1"})), kind.__name__)


@pytest.mark.parametrize("first", [(), (BoundDecorator(Copies(), "copies"),)], ids=["chain", "chain with a fan-out"])
def test_handler_of_a_failure_is_not_interrupted(first):
    chain = Chain([*first, bound_to(Fails)])
    with TimeLimit(chain.guarded, tick_s=1_000) as limit:
        outcomes = chain.run(Event(b"a"))
    assert {outcome.error.code for outcome in outcomes} == {"decorator_bug"}
    assert limit.ended == 0


def test_call_that_repeats_another_guarded_call_is_interrupted():
    chain = Chain([bound_to(Repeats), bound_to(Value)])
    with TimeLimit(chain.guarded, tick_s=1_000):
        [failed] = chain.run(Event(b"a"))
    assert (failed.error.code, failed.component) == ("decorator_timeout", "Repeats")


def test_many_short_calls_are_not_interrupted():
    def short() -> None:
        time.sleep(0.002)

    with TimeLimit([short], ticks=3) as limit:
        for _ in range(100):
            short()
    assert limit.ended == 0


def test_waiting_outside_of_guarded_calls_is_not_interrupted():
    """A store that does not answer blocks the task; no event times out."""

    def guarded() -> None:
        """Returns."""

    with TimeLimit([guarded]) as limit:
        guarded()
        time.sleep(0.2)
    assert limit.ended == 0


@pytest.fixture
def archived(planned, tmp_path):
    """The plan of a pipeline that archives its events; the row of one that is EVIL is never made."""

    def make() -> Plan:
        planned()
        file = tmp_path / "pipeline.yaml"
        content = json.loads(file.read_text())
        settings = {"root": "./archive", "table": "t", "columns": {"x": f"%{{extract(body, '{NEVER}')}}"}}
        settings |= {"late": "100000d"}
        content["pipelines"]["p"]["sinks"] = [{"archive": settings}]
        file.write_text(json.dumps(content))
        configuration = load(file, env={}, lookup=Catalog())
        return plan_of(configuration, configuration.pipelines["p"], Catalog())

    return make


def run_archived(plan: Plan, spec, *bodies: bytes, call_timeout_s: float = 60.0):
    task = live_task(plan)
    try:
        with_times = [record._replace(timestamp_ms=1_000) for record in records(*bodies)]
        return task.run(with_times, replace(spec, call_timeout_s=call_timeout_s, prepared={"sink archive": b"staged"}))
    finally:
        task.close()


def test_row_of_an_archive_that_is_never_made_fails_the_event(archived, spec, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    receipt = run_archived(archived(), spec, b"a", EVIL)
    assert (receipt.status, receipt.counts.dead_lettered) == (TaskStatus.DURABLE, Counter(sink_timeout=1))


@pytest.mark.parametrize("is_waiting", [True, False], ids=["waits", "computes"])
@pytest.mark.parametrize(("call_timeout_s", "status"), [(60.0, TaskStatus.DURABLE), (0.1, TaskStatus.BLOCKED)])
def test_files_of_an_archive_have_the_call_timeout_of_the_attempt(
    archived, spec, tmp_path, monkeypatch, is_waiting, call_timeout_s, status
):
    """They are written for many events, while one is written; the call timeout doubles with each attempt."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(task_writer, "_ROWS", 2)

    class Slow(RowFile):
        def __init__(self, *_args: object) -> None:
            pass

        def write(self, rows):
            ended_s = time.monotonic() + 0.3
            while time.monotonic() < ended_s:
                if is_waiting:
                    time.sleep(0.01)

        def close(self):
            pass

    monkeypatch.setattr(task_writer, "new_row_file", Slow)
    receipt = run_archived(archived(), spec, b"a", b"b", b"c", call_timeout_s=call_timeout_s)
    assert (receipt.status, receipt.counts.dead_lettered) == (status, Counter())
    if status is TaskStatus.BLOCKED:
        assert "was not written: WaitedTooLongError: no answer within 0.1 s; check that the file" in receipt.message


@pytest.mark.parametrize(("cpu_s", "expected"), [(0.0, WaitedTooLongError), (1.0, OutOfTimeError)])
def test_cpu_time_of_a_write_is_that_of_its_event(cpu_s, expected):
    used_s = itertools.count(0.0, cpu_s)

    def write() -> None:
        for _ in range(100):
            tick()

    with (
        TimeLimit(writes=[write], timed_writes=[write], tick_s=1.0, cpu_s=lambda: next(used_s)).within(40.0) as limit,
        pytest.raises(expected),
    ):
        write()
    assert limit.ended == (expected is OutOfTimeError)


def test_many_short_writes_are_not_interrupted():
    def write() -> None:
        tick()

    with TimeLimit(writes=[write], timed_writes=[write], tick_s=1_000).within(1.0):
        for _ in range(10 * TICKS):
            write()


def test_calls_in_other_threads_are_not_interrupted():
    found = []

    def guarded() -> None:
        time.sleep(0.2)

    def run() -> None:
        with TimeLimit([guarded]) as limit:
            guarded()
        found.append(limit.ended)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == [0]


def test_timer_that_is_already_set_is_kept():
    def guarded() -> None:
        time.sleep(0.1)

    earlier = signal.getsignal(signal.SIGALRM)
    signal.setitimer(signal.ITIMER_REAL, 1_000)
    try:
        with TimeLimit([guarded]) as limit:
            guarded()
        assert limit.ended == 0
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 900
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    assert signal.getsignal(signal.SIGALRM) is earlier
