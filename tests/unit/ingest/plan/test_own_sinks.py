"""Sinks with a destination of their own: records through the task and the committers of a plan."""

import importlib
from pathlib import Path

import pytest

from ingest.api import OnError, Record, SinkContext
from ingest.catalog import Catalog
from ingest.config import load
from ingest.config.model import Configuration
from ingest.dead_letters.envelope import DeadLetter
from ingest.pipeline.loop import MicroBatch, run_until_durable
from ingest.plan.assemble import Plan, live_bindings, live_task, plan_of, sink_committers, sink_writers
from ingest.receipt import Counts
from ingest.service.stores import committers_of
from tests.support.sinks import LINES, PIPELINE
from tests.support.without_spark import OneTask

BATCH = MicroBatch("1000", 1_000, "1")


@pytest.fixture
def configured(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)

    def write(text: str = PIPELINE) -> tuple[Configuration, Plan]:
        Path("lining.py").write_text(LINES)
        Path("p.yaml").write_text(text)
        configuration = load("p.yaml", env={}, lookup=Catalog())
        return configuration, plan_of(configuration, configuration.pipelines["p"], Catalog(configuration.plugins))

    return write


def run(configuration: Configuration, plan: Plan, *values: bytes) -> tuple[Counts, list[DeadLetter]]:
    records = [Record("a.log", 0, offset, None, value, 500) for offset, value in enumerate(values)]
    committers = committers_of(configuration, plan, {})
    counts, dead_letters = run_until_durable(BATCH, committers, OneTask(live_task(plan), records))
    return counts, [DeadLetter.from_json(each) for each in dead_letters]


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


def test_time_limit_guards_write(configured):
    _, plan = configured()
    (binding,), guarded = live_bindings(plan, {}, sink_writers(plan))
    assert guarded == [binding.write]


def test_binding_without_a_writer_accepts_every_event(configured):
    _, plan = configured()
    (binding,), _ = live_bindings(plan, {})
    assert (binding.write(None), binding.on_error) == (None, OnError.DEAD_LETTER)


def test_writer_and_committer_get_the_same_context(configured, monkeypatch, tmp_path):
    _, plan = configured()
    seen = []
    lines = importlib.import_module("lining").Lines
    monkeypatch.setattr(lines, "writer", lambda _self, context: seen.append(context))
    monkeypatch.setattr(lines, "committer", lambda _self, context: seen.append(context))
    assert (sink_writers(plan), sink_committers(plan)) == ({"sink lines": None}, {"sink lines": None})
    assert seen == [SinkContext("p", "lines", tmp_path / "state")] * 2


def test_staging_names_are_distinct_file_names():
    names = [("a", "b+c"), ("a+b", "c"), ("a/..", "b"), ("a", "b")]
    contexts = [SinkContext(*pair, Path(), is_replay) for pair in names for is_replay in (False, True)]
    found = {context.staging_name for context in contexts}
    assert len(found) == len(contexts)
    assert all(Path(name).name == name for name in found)
