"""The benchmark code that determines the meaning of the figures."""

import re
from itertools import count

import psutil
import pytest

from ingest.catalog import Catalog
from ingest.config import load
from ingest.config.problems import Kind
from tests.bench import (
    benthos,
    compaction,
    counting,
    dumps,
    durability,
    hbase,
    latency,
    micro,
    neighbour,
    rungs,
    scale,
    scans,
    threads,
    watching,
)
from tests.bench.base_build import of_base, with_base, without_base
from tests.bench.goals import GOALS, goals, verdict
from tests.bench.latency import load_name
from tests.bench.ready_made import batch
from tests.bench.watching import follow
from tests.bench.workload import COLUMNS, PATTERN, PIPELINE, Workload, written


def test_performance_page_documents_the_settings_in_force():
    assert durability.differences(durability.in_force(), durability.DOCUMENTED.read_text()) == []


@pytest.mark.parametrize(("page", "found"), [("| `a: b` | `false` |", "false"), ("", "nothing")])
def test_setting_that_differs_from_the_documented_one_is_named(page, found):
    assert durability.differences({"a: b": "true"}, page) == [f"a: b is true, docs/bench/settings.md says {found}"]


def test_goal_is_an_upper_or_a_lower_bound():
    names = ("rocksdb", of_base("rocksdb"))
    runs = {name: {"turns": [{"per_s": 100.0, "cpu_s_per_million": 10.0}]} for name in names}
    assert [verdict(line) for line in goals({"rungs": runs}) if line["figure"]] == ["NOT met", "NOT met"]
    runs["rocksdb"]["turns"][0]["per_s"] = 125.0
    assert [line["met"] for line in goals({"rungs": runs}) if line["figure"]] == [True, False]
    runs["rocksdb"]["turns"][0]["cpu_s_per_million"] = 7.8
    assert [line["met"] for line in goals({"rungs": runs}) if line["figure"]] == [True, True]


def test_goal_without_a_figure_is_not_measured():
    for nothing in ({}, {"soak": {"memory_growth": None}}):
        assert {verdict(line) for line in goals(nothing)} == {"not measured"}
    assert len({goal.name for goal in GOALS}) == len(GOALS)


def test_ratio_compares_the_runs_of_a_turn():
    turns = {"hbase": (40.0, 20.0, 10.0), "ceiling": (50.0, 40.0, 100.0)}
    result = {"hbase": {name: {"turns": [{"per_s": rate} for rate in rates]} for name, rates in turns.items()}}
    (found,) = (goal["figure"] for goal in goals(result) if goal["figure"] is not None)
    assert found == 0.5


def test_complete_run_has_a_figure_for_every_goal():
    figures = {"per_s": 1.0, "cpu_s_per_million": 1.0, "total_cpu_s_per_million": 2.0, "peak_mib": 1.0}
    figures |= {"turns": [figures], "share_of_files": 1.0}
    latencies = {"p50_s": 1.0, "p99_s": 1.0}
    latencies |= {"turns": [latencies]}
    whole = {
        "rungs": dict.fromkeys(
            (
                *with_base(rungs.ROCKSDB_RUNGS, rungs.COMPARED, "a1"),
                *(*rungs.STAGE_RUNGS, *neighbour.NEIGHBOURS),
            ),
            figures,
        ),
        "hbase": dict.fromkeys(
            (
                *with_base(hbase.PEER_RUNGS, hbase.COMPARED, "a1"),
                *hbase.THRIFT_RUNGS,
                *(*hbase.SPREAD_RUNGS, *hbase.FEED_RUNGS, *hbase.CLUSTER),
            ),
            figures,
        ),
        "scale": dict.fromkeys(scale.cases(), figures),
        "latency": {
            load_name(load, rung): latencies
            for rung in (*latency.RUNGS, *latency.THRIFT_RUNGS)
            for load in latency.LOADS
        },
        "writes_ns": {micro.CELL_BLOCK: 1.0},
        "soak": {"memory_growth": 0.0},
        "fuzzy_share": 0.005,
        "jobs": {"alone_per_s": 1.0, "beside_per_s": 1.0},
        "scans_per_s": {
            scans.scan_of(table, protocol): 1.0
            for protocol in (scans.BY_THRIFT, scans.BY_NATIVE)
            for table in (scans.PLAIN, scans.SALTED)
        },
        "counting": dict.fromkeys(counting.WAYS, figures),
        "compaction": {store: {"plain_us": 1.0, "merged_us": 1.0} for store in (compaction.HBASE, compaction.ROCKSDB)},
        "dumps": {
            store: dict.fromkeys((dumps.SCAN, "gzip", "zstd", "parquet"), 1.0) for store in (dumps.HBASE, dumps.ROCKSDB)
        },
        "killed_compaction": {"memory_growth": 0.0},
        "chain_of_four_per_s": 1.0,
        "feed_changes_per_s": 1.0,
    }
    assert all(line["figure"] is not None for line in goals(whole))


def test_base_build_runs_in_the_turns_of_the_benchmarks_that_it_knows():
    assert with_base(("a", "b"), ("b", "c"), "") == ["a", "b"]
    assert with_base(("a", "b"), ("b", "c"), "9c2c026c") == ["a", "b", of_base("b")]
    assert without_base(of_base("b")) == without_base("b") == "b"


def test_first_half_of_the_events_is_not_measured(monkeypatch):
    monkeypatch.setattr(watching, "POLL_S", 0.0)
    done = count(0, 7)
    sample = follow(100, lambda: min(100, next(done)), its=lambda: [psutil.Process()], servers=list)
    assert sample.events == 100 - 56
    assert sample.servers_cpu_s == 0
    assert sample.peak_mib > 1


def test_threads_of_this_process_belong_to_the_driver():
    processes = [psutil.Process()]
    before = threads.seconds(processes)
    while sum((after := threads.seconds(processes)).values()) < sum(before.values()) + 0.05:
        pass
    ((process, kinds),) = threads.usage(processes, before, after).items()
    assert (process, list(kinds)) == ("driver", [threads.REST])
    assert kinds[threads.REST] == pytest.approx(sum(after.values()) - sum(before.values()))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("regionserver/localhost:0-shortCompactions-0", "compactions"),
        ("RpcServer.default.RWQ.Fifo.write.handler=3,queue=0,port=1", "calls"),
        ("C2 CompilerThread0", "JIT compilation"),
        ("G1 Young RemSet Sampling", "garbage collection"),
        ("main", threads.REST),
    ],
)
def test_purpose_of_a_jvm_thread_follows_from_its_name(name, kind):
    assert threads.kind_of(name) == kind


def test_run_that_ends_early_or_has_too_many_events_is_refused(monkeypatch):
    monkeypatch.setattr(watching, "POLL_S", 0.0)
    with pytest.raises(RuntimeError, match="the run stopped at 99 of 100 events"):
        follow(100, lambda: 99, its=list, servers=list, runs=lambda: False)
    with pytest.raises(RuntimeError, match="101 events were done, expected 100"):
        follow(100, lambda: 101, its=list, servers=list)
    with pytest.raises(RuntimeError, match="all 100 events were done during the warm-up"):
        follow(100, lambda: 100, its=list, servers=list)


def test_lines_are_the_same_in_every_run_and_have_the_requested_length():
    assert list(Workload().lines(50)) == list(Workload().lines(50))
    assert {len(line) for line in Workload(body_bytes=1_000).lines(50)} == {1_000}


@pytest.mark.parametrize("cells", [1, 3, 9, 30])
def test_chain_sets_the_requested_number_of_cells(cells):
    decorators = Workload(cells=cells).decorators()
    named = [name for name in decorators[0]["regex"]["attributes"] if name.startswith("2hb_")]
    named += [each["value"]["attribute"] for each in decorators[1:] if each["value"]["attribute"] != "2hb_"]
    assert len(set(named)) == cells


@pytest.mark.parametrize("chain", [1, 4, 8])
def test_chain_has_the_requested_number_of_decorators(tmp_path, chain):
    content = Workload(chain=chain).content(brokers="localhost:1", topic="t", group="g", store={"memory": {}})
    pipeline = load(written(content, tmp_path), env={}, lookup=Catalog()).pipelines[PIPELINE]
    assert len(pipeline.decorators) == chain + 1


@pytest.mark.parametrize(("workload", "options"), rungs.ROCKSDB.values(), ids=rungs.ROCKSDB)
def test_rocksdb_benchmarks_have_valid_pipeline_files(tmp_path, workload, options):
    store = {"rocksdb": {"path": "./store", **options}}
    content = workload.content(brokers="localhost:1", topic="t", group="g", store=store)
    problems = load(written(content, tmp_path), env={}, lookup=Catalog()).report.problems
    # one benchmark overwrites rows on purpose
    assert {problem.kind for problem in problems} <= {Kind.SHARED_ROW_KEY}


def test_batch_above_the_limit_of_a_broker_is_refused():
    with pytest.raises(ValueError, match="with record 1 the batch"):
        batch([(None, b"a"), (None, b"b" * 1_000_000), (None, b"c")])


def test_benthos_runs_the_same_regex():
    (line,) = Workload().lines(1)
    found = re.match(benthos.named_pattern(), line.decode())
    same = re.match(PATTERN, line.decode())
    assert (tuple(found.groupdict()), tuple(found.groupdict().values())) == (COLUMNS, same.groups())


def test_dumps_are_measured_in_each_format(tmp_path, monkeypatch):
    monkeypatch.setattr(dumps, "ROWS", dumps.CALL_ROWS)
    found = dumps.on_rocksdb(tmp_path, 1)
    assert list(found) == [dumps.SCAN, "gzip", "zstd", "parquet"]
    assert all(rate > 0 for rate in found.values())
