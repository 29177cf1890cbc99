"""Sinks with a destination of their own: records through the task and the committers of a plan."""

import importlib
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from ingest.api import (
    Batch,
    ConfigError,
    Disposition,
    IngestError,
    OnError,
    Record,
    SinkContext,
    SinkResult,
    StoreUnavailableError,
    TaskSpec,
)
from ingest.catalog import Catalog
from ingest.config import load
from ingest.config.model import Configuration
from ingest.dead_letters.envelope import DeadLetter
from ingest.pipeline.in_process import InProcessHost
from ingest.pipeline.loop import MicroBatch, run_until_durable
from ingest.pipeline.time_limit import TimeLimit
from ingest.plan.assemble import live_bindings, live_task, plan_of, plugin_task_sinks, sink_committers
from ingest.plan.plan import Plan
from ingest.plugins.guard import OutOfMemoryError
from ingest.receipt import Counts, TaskStatus
from ingest.service.committers import committers_of
from tests.support.sinks import LINES, PIPELINE

BATCH = MicroBatch("1000", 1_000, "1", splits=(("a.log", 0, 0),))


@pytest.fixture
def configured(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)

    def write(text: str = PIPELINE, lines: str = LINES) -> tuple[Configuration, Plan]:
        Path("lining.py").write_text(lines)
        Path("p.yaml").write_text(text)
        configuration = load("p.yaml", env={}, lookup=Catalog())
        return configuration, plan_of(configuration, configuration.pipelines["p"], Catalog(configuration.plugins))

    return write


def run(configuration: Configuration, plan: Plan, *values: bytes) -> tuple[Counts, list[DeadLetter]]:
    records = [Record("a.log", 0, offset, None, value, 500) for offset, value in enumerate(values)]
    committers = committers_of(configuration, plan, {}, check_owner=lambda: None)
    counts, dead_letters = run_until_durable(BATCH, committers, InProcessHost(live_task(plan), records))
    return counts, [DeadLetter.from_json(each) for each in dead_letters]


FINDING = """
    def findings(self):
        yield Finding(("path",), "the folder is shared", hint="use another", see=("path",))
"""


def test_hint_of_a_finding_is_shown_instead_of_the_line_of_another_option(configured):
    option = 'path: str = option("Folder of the files.", example="./lines")'
    assert option in LINES
    lines = LINES.replace(option, option + "\n" + FINDING).replace("Example, ", "Example, Finding, ")
    with pytest.raises(ConfigError, match=r"8:23: conflict: the folder is shared; use another$"):
        configured(lines=lines)


def test_events_are_counted_and_committed(configured):
    counts, dead_letters = run(*configured(), b"one", b"", b"two")
    assert (counts.read, counts.stored, counts.rows_sent, dead_letters) == (3, 2, 2, [])
    assert counts.dropped == {"empty": 1}
    assert Path("lines/1000").read_text() == "one\ntwo\n"


def test_rejected_events_and_bugs_become_dead_letters_with_the_sink_name(configured):
    text = PIPELINE.replace("./lines}", "./lines, label: archive}")
    counts, dead_letters = run(*configured(text), b"one", b"refused", b"bug")
    assert counts.dead_lettered == {"bad_line": 1, "sink_bug": 1}
    assert {(each.component, each.code) for each in dead_letters} == {("archive", "bad_line"), ("archive", "sink_bug")}
    (bug,) = (each.message for each in dead_letters if each.code == "sink_bug")
    line = next(number for number, text in enumerate(LINES.splitlines(), 1) if "a bug" in text)
    assert bug == f'ValueError: a bug (lining:{line}, "lining.py")'
    assert Path("lines/1000").read_text() == "one\n"


def test_sinks_of_one_kind_have_separate_destinations_and_folders(configured):
    text = PIPELINE + "      - lines: {path: ./others, when: \"%{body} == 'two'\"}\n"
    run(*configured(text), b"one", b"two")
    assert [Path(folder, "1000").read_text() for folder in ("lines", "others")] == ["one\ntwo\n", "two\n"]


@pytest.fixture
def quick(monkeypatch):
    """Tens of milliseconds instead of seconds."""
    monkeypatch.setitem(TimeLimit.__init__.__kwdefaults__, "tick_s", 0.01)


WAITS = """
        if event.body == b"waits":
            import time
            time.sleep(0.3)
        while event.body == b"loops":
            pass
"""


def slow_sink(configured, *, call_timeout_s: float, more: str = ""):
    """Run three events into a sink that waits for 0.3 s for one of them, and never returns for another."""
    at = "    def write(self, event):\n"
    assert at in LINES
    _, plan = configured(lines=LINES.replace(at, more + at + WAITS.lstrip("\n")))
    task = live_task(plan)
    try:
        records = [Record("t", 0, number, b"", body, 0) for number, body in enumerate((b"one", b"waits", b"loops"))]
        prepared = {"sink lines": os.fsencode(Path("lines/.staged"))}
        spec = TaskSpec(Batch("1000", 1000, "1"), call_timeout_s=call_timeout_s, prepared=prepared)
        return task.run(records, spec)
    finally:
        task.close()


def test_time_that_a_sink_waits_is_not_that_of_the_event(configured, quick):
    receipt = slow_sink(configured, call_timeout_s=60.0)
    assert (receipt.status, receipt.counts.stored) == (TaskStatus.DURABLE, 2), receipt.message
    assert receipt.counts.dead_lettered == {"sink_timeout": 1}


def test_sink_that_waits_for_longer_than_the_call_timeout_blocks_the_batch(configured, quick):
    receipt = slow_sink(configured, call_timeout_s=0.1)
    assert (receipt.status, receipt.code) == (TaskStatus.BLOCKED, "store_unavailable")
    assert receipt.message.startswith('sink "lines" waits for its destination: no answer within 0.1 s; check')


def test_sink_may_name_its_calls_for_one_event(configured, quick):
    """Only these have a time limit for each event; the rest may take CPU time for many."""
    calls = """
    def prepare(self, event):
        pass

    @property
    def event_calls(self):
        return (self.prepare,)

"""
    receipt = slow_sink(configured, call_timeout_s=1.0, more=calls)
    assert (receipt.status, receipt.code) == (TaskStatus.BLOCKED, "store_unavailable")


def test_binding_without_a_writer_accepts_every_event(configured):
    _, plan = configured()
    (binding,), _ = live_bindings(plan, {})
    assert (binding.write(None), binding.on_error) == (None, OnError.DEAD_LETTER)


def test_writer_and_committer_get_the_same_context(configured, monkeypatch, tmp_path):
    configuration, plan = configured()
    source = configuration.pipelines["p"].source.settings
    seen = []
    lines = importlib.import_module("lining").Lines
    for name in ("writer", "committer"):
        made = getattr(lines, name)
        monkeypatch.setattr(lines, name, lambda self, context, made=made: seen.append(context) or made(self, context))
    assert (*plugin_task_sinks(plan), *sink_committers(plan, lambda: None, source)) == ("sink lines", "sink lines")
    context = SinkContext("p", "lines", tmp_path / "state")
    assert seen == [context, replace(context, source=source)], "a task has no use for the source"


LOCATION = f"p.yaml:{1 + PIPELINE.splitlines().index('      - lines: {path: ./lines}')}:9"


def run_with_start(configuration: Configuration, plan: Plan) -> None:
    """Recover as at a start, then run a micro-batch."""
    for committer in committers_of(configuration, plan, {}, check_owner=lambda: None).values():
        committer.recover()
    run(configuration, plan, b"one")


def replace_call(monkeypatch: pytest.MonkeyPatch, half: str, call: str, answer: Callable[[], object]) -> None:
    """Let a call of `Lines` or of one of its halves do only this."""
    kind = getattr(importlib.import_module("lining"), half)
    monkeypatch.setattr(kind, call, lambda *_arguments: answer(), raising=False)


@pytest.mark.parametrize(
    ("half", "call"),
    [
        ("Lines", "writer"),
        ("LinesWriter", "begin"),
        ("LinesWriter", "split_start"),
        ("LinesWriter", "split_end"),
        ("LinesWriter", "flush"),
        ("Lines", "committer"),
        ("LinesCommitter", "recover"),
        ("LinesCommitter", "prepare"),
        ("LinesCommitter", "commit"),
    ],
)
class TestFaults:
    @pytest.mark.parametrize("bug", [ValueError("a bug"), SystemExit("a bug")], ids=["exception", "no Exception"])
    def test_unexpected_exception_names_the_sink_and_is_not_retried(self, configured, monkeypatch, half, call, bug):
        configuration, plan = configured()
        calls = []

        def fail() -> None:
            calls.append(call)
            raise bug

        replace_call(monkeypatch, half, call, fail)
        with pytest.raises(IngestError) as caught:
            run_with_start(configuration, plan)
        error = caught.value
        assert (error.code, error.disposition, calls) == ("sink_failed", Disposition.STOP, [call])
        assert error.message == f'"lines" ({LOCATION}): {call}: {type(bug).__name__}: a bug ("lining.py")'

    def test_want_of_memory_is_retried(self, configured, monkeypatch, half, call):
        def fail() -> None:
            raise MemoryError

        configuration, plan = configured()
        replace_call(monkeypatch, half, call, fail)
        reported = StoreUnavailableError if half == "LinesWriter" else OutOfMemoryError
        with pytest.raises(reported, match='"lines" ran out of memory') as caught:
            run_with_start(configuration, plan)
        assert caught.value.code == "out_of_memory"


@pytest.mark.parametrize(
    ("half", "call", "answer", "wanted"),
    [
        ("Lines", "writer", None, "SinkWriter"),
        ("Lines", "committer", None, "Committer"),
        ("LinesWriter", "flush", None, "SinkResult"),
        ("LinesWriter", "flush", SinkResult("text"), "bytes"),
        ("LinesCommitter", "prepare", None, "bytes"),
    ],
)
def test_wrong_answer_names_the_sink(configured, monkeypatch, half, call, answer, wanted):
    configuration, plan = configured()
    replace_call(monkeypatch, half, call, lambda: answer)
    with pytest.raises(IngestError, match=f"{call}: TypeError: it returned .*; it must return {wanted} ") as caught:
        run_with_start(configuration, plan)
    assert caught.value.code == "sink_failed"


@pytest.mark.parametrize("call", ["abort", "stop_probe", "close"])
def test_exception_of_a_call_that_nothing_depends_on_is_logged(configured, monkeypatch, call):
    def fail(*_arguments: object) -> None:
        raise ValueError("a bug")

    configuration, plan = configured()
    replace_call(monkeypatch, "LinesCommitter", call, fail)
    source = configuration.pipelines["p"].source.settings
    (committer,) = sink_committers(plan, lambda: None, source).values()
    with capture_logs() as logged:
        getattr(committer, call)(*(["batch"] if call == "abort" else []))
    assert [line["reason"] for line in logged] == [f'"lines" ({LOCATION}): {call}: ValueError: a bug ("lining.py")']


def test_staging_names_are_distinct_file_names():
    names = [("a", "b+c"), ("a+b", "c"), ("a/..", "b"), ("a", "b")]
    contexts = [SinkContext(*pair, Path(), is_replay) for pair in names for is_replay in (False, True)]
    found = {context.staging_name for context in contexts}
    assert len(found) == len(contexts)
    assert all(Path(name).name == name for name in found)
