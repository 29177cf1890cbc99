"""The option `bulk_load` of tables, and what the tasks get of it."""

from dataclasses import replace
from pathlib import Path

import pytest

from ingest.api import Batch
from ingest.api.bulk_load import Confirmed
from ingest.catalog import Catalog
from ingest.config import load
from ingest.config.model import Configuration
from ingest.plan.assemble import plan_of
from ingest.plan.features import has_large_chunks
from ingest.plan.table_messages import TableMessages
from ingest.service.committers import committers_of
from sinks.bulk_load.modes import BEHIND, NAME, ONLY_CALLS, ONLY_CHECKED, UP_TO_DATE, LoadRule
from sinks.writing.messages import Prepared
from tests.support.problems import problems_of

FILE = """\
version: 1
stores: {s: {hbase: {STORE}}}
tables:
  t: {families: {f: {}}, bulk_load: OPTION}
  u: {families: {f: {}}, bulk_load: {from: 7}}
pipelines:
  p:
    source: {files: {path: ./a.log}}
    decorators: [value: {attribute: 2hb_, value: '%{offset}'}, value: {attribute: '2hb_f:q', value: v}]
    sinks: [{attr2hbase: {table: t}}, {attr2hbase: {table: u}}]
"""
NATIVE = "bootstrap_servers: 'localhost:1', staging: /tmp/staging"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "p.yaml"


def configuration(path: Path, option: str) -> Configuration:
    path.write_text(FILE.replace("OPTION", option).replace("STORE", NATIVE))
    return load(path, env={}, lookup=Catalog())


@pytest.mark.parametrize(
    ("option", "rule"),
    [
        ("auto", LoadRule(5_000, 4 << 20, only_behind=True)),
        (
            "{from: auto, replicated: true}",
            LoadRule(5_000, 4 << 20, only_behind=True, confirmed=Confirmed(replicated=True)),
        ),
        (
            "{from: auto, coprocessors: true}",
            LoadRule(5_000, 4 << 20, only_behind=True, confirmed=Confirmed(coprocessors=True)),
        ),
        ("{from: 100}", LoadRule(100, None, only_behind=False)),
        ("never", None),
        ("{from: never}", None),
        ("null", None),
    ],
)
def test_rule_of_a_table_is_planned_for_its_tasks(path: Path, option: str, rule: LoadRule | None):
    file = configuration(path, option)
    plan = plan_of(file, file.pipelines["p"], Catalog())
    assert plan.features["s"].get("t", {}).get(NAME) == rule
    assert plan.features["s"]["u"][NAME] == LoadRule(7, None, only_behind=False)
    assert has_large_chunks(plan.features["s"])
    assert not has_large_chunks({})


@pytest.mark.parametrize(("is_behind", "message"), [(True, BEHIND), (False, UP_TO_DATE)])
def test_tasks_learn_whether_the_pipeline_is_behind_if_it_matters(path: Path, message: bytes, *, is_behind: bool):
    file = configuration(path, "auto")
    features = plan_of(file, file.pipelines["p"], Catalog()).features["s"]
    assert TableMessages(features, lambda: is_behind).prepare("s", 0).messages == {"t": {NAME: message}}


@pytest.mark.parametrize(("is_behind", "message"), [(True, ONLY_CHECKED), (False, ONLY_CALLS)])
def test_tasks_learn_that_an_attempt_is_not_the_first_at_its_micro_batch(
    path: Path, message: bytes, *, is_behind: bool
):
    """Also of one that an earlier start of the service has begun; without files nothing is checked either."""
    file = configuration(path, "auto")
    features = plan_of(file, file.pipelines["p"], Catalog()).features["s"]
    messages = TableMessages(features, lambda: is_behind, begun_ms=7)
    first, new = {"t": {NAME: message}, "u": {NAME: ONLY_CHECKED}}, {"t": {NAME: BEHIND if is_behind else UP_TO_DATE}}
    assert [messages.prepare("s", time_ms).messages for time_ms in (7, 7, 9, 9)] == [first, first, new, first]


@pytest.mark.parametrize(
    ("is_replay", "messages"),
    [(False, {"t": {NAME: BEHIND}}), (True, {"t": {NAME: ONLY_CALLS}, "u": {NAME: ONLY_CALLS}})],
)
def test_tasks_of_a_replay_learn_that_it_is_one(path: Path, messages: object, *, is_replay: bool):
    file = configuration(path, "auto")
    plan = replace(plan_of(file, file.pipelines["p"], Catalog()), is_replay=is_replay)
    committer = committers_of(file, plan, {}, check_owner=lambda: None)["s"]
    assert Prepared.unpacked(committer.prepare(Batch("b", 0, "1"), ())).features == messages


def test_tasks_of_a_replay_into_an_empty_table_learn_that_they_are_behind(path: Path):
    """As a replay writes no cell again there."""
    file = configuration(path, "auto")
    empty = {"s": {"t"}, "other": {"u"}}
    plan = replace(plan_of(file, file.pipelines["p"], Catalog()), is_replay=True, empty=empty)
    committer = committers_of(file, plan, {}, check_owner=lambda: None)["s"]
    messages = Prepared.unpacked(committer.prepare(Batch("b", 0, "1"), ())).features
    assert messages == {"t": {NAME: BEHIND}, "u": {NAME: ONLY_CALLS}}


def test_sink_with_times_of_events_is_refused(path: Path):
    """Two events may give a cell different values at one time, and a file may not replace the first one."""
    path.write_text(
        FILE.replace("OPTION", "auto").replace("STORE", NATIVE).replace("{table: t}", "{table: t, timestamp: event}")
    )
    (found,) = [str(each) for each in problems_of(path) if "bulk load" in str(each)]
    assert 'table "t" has bulk load' in found
    assert "timestamp" in found
    path.write_text(path.read_text().replace("bulk_load: auto", "bulk_load: never"))
    assert not any("bulk load" in str(each) for each in problems_of(path))


def test_sink_with_times_of_events_that_may_name_the_table_is_refused(path: Path):
    text = FILE.replace("OPTION", "auto").replace("STORE", NATIVE)
    path.write_text(text.replace("{table: t}", "{table: '%{topic}', store: s, timestamp: event}"))
    found = [str(each) for each in problems_of(path) if "which events of this sink may name" in str(each)]
    assert [f'table "{name}"' in each for name, each in zip("tu", found, strict=True)] == [True, True]
    path.write_text(path.read_text().replace(", timestamp: event", ""))
    assert not any("may name" in str(each) for each in problems_of(path))


@pytest.mark.parametrize(
    ("option", "problem"),
    [
        ("autp", 'bulk_load cannot be "autp"; did you mean "auto"?'),
        ("{from: 0}", "0 is no number of rows; write 1 or more, `auto` or `never`"),
        ("{from: 20k}", 'from cannot be "20k"; one of "auto", "never" or a whole number'),
        ("{replicated: true}", 'missing-field: bulk_load needs "from"; `from: auto` is the usual one'),
        ("{replicatd: true}", 'bulk_load needs "from"'),
        ("{replicatd: true}", 'unknown-field: "replicatd" is not an option of bulk_load; did you mean "replicated"?'),
        ("20000", "bulk_load must be `auto`, `never` or a mapping, not the number 20000; write {from: 20000}"),
        ("true", "bulk_load must be `auto`, `never` or a mapping, not the boolean true; write auto, or {from: NUMBER"),
        ("false", "bulk_load must be `auto`, `never` or a mapping, not the boolean false; write never"),
        ("[auto]", "bulk_load must be a mapping"),
    ],
)
def test_option_that_has_no_meaning_is_refused(path: Path, option: str, problem: str):
    path.write_text(FILE.replace("OPTION", option).replace("STORE", NATIVE))
    assert any(problem in str(found) for found in problems_of(path))


@pytest.mark.parametrize(
    ("store", "reason"),
    [
        ("", "a Thrift server, which loads no files"),
        ("bootstrap_servers: 'localhost:1'", "names no folder for files"),
    ],
)
def test_store_that_loads_no_files_is_refused(path: Path, store: str, reason: str):
    path.write_text(FILE.replace("OPTION", "auto").replace("STORE", store))
    found = [str(each) for each in problems_of(path)]
    assert len(found) == 2
    assert all(reason in each for each in found)
    path.write_text(FILE.replace("OPTION", "never").replace(", bulk_load: {from: 7}", "").replace("STORE", store))
    assert problems_of(path) == []


def test_other_stores_load_no_files(path: Path):
    path.write_text(FILE.replace("OPTION", "auto").replace("hbase: {STORE}", "rocksdb: {path: ./data}"))
    way_out = "only `hbase` stores with the native RPC (`bootstrap_servers` or `zookeeper`) load files"
    for each in problems_of(path):
        assert "can have no bulk load: its rocksdb store loads no files" in str(each)
        assert way_out in str(each)
    assert len(problems_of(path)) == 2
