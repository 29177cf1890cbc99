"""The result of a kept run, and the page and charts of it."""

from dataclasses import asdict

import pytest

from tests.bench import compaction, hbase, killed_compaction, report, rungs, threads
from tests.bench.base_build import of_base
from tests.bench.charts import LOSSES, NAMES, charts
from tests.bench.hbase import FLUME_MEMORY, NATIVE
from tests.bench.kept import Head, KeptRun, RunError, Turn
from tests.bench.neighbour import NEIGHBOURS
from tests.bench.parts import DEFAULT_PARTS, PARTS, Options, rotated
from tests.bench.report import page
from tests.bench.results import full_rate, result_of
from tests.bench.watching import Sample

OPTIONS = Options(events=10, hbase_events=20, runs=2, soak_minutes=1.0, latency_s=1.0)
MACHINE = {"cpu": "2 x any", "python": "3", "pyspark": "4"}


@pytest.fixture
def run(tmp_path):
    head = Head("a1", MACHINE, {}, asdict(OPTIONS), "2026-01-01T10:00:00+00:00")
    return KeptRun.started(tmp_path / "run", head)


def keep(run, part, *turns, s=1.0, attempt=1):
    for number, figures in enumerate(turns, start=1):
        run.keep(Turn(part, number, attempt, [s], figures))


def sample(per_s, **threads_of):
    return asdict(Sample(100, 100 / per_s, 2.0, 3.0, 4.0, threads_of))


def test_result_has_medians_of_the_turns(run):
    peers = [{NATIVE: sample(10.0), FLUME_MEMORY: sample(20.0)}, {FLUME_MEMORY: sample(10.0), NATIVE: sample(20.0)}]
    keep(run, "peers", *peers)
    latency = [{"50 %": {"per_s": 5.0, "p50_s": p50}} for p50 in (1.0, 2.0)]
    keep(run, "latency", *latency)
    keep(run, "jobs", {"jobs": {"alone_per_s": 2.0, "beside_per_s": 1.0}})
    result = result_of(run)
    assert result["hbase"][NATIVE] | {"turns": None} == {
        "per_s": 15.0, "lowest_per_s": 10.0, "highest_per_s": 20.0, "cpu_s_per_million": 20_000.0,
        "servers_cpu_s_per_million": 30_000.0, "peak_mib": 4.0, "threads": {}, "turns": None, "share_of_files": 0.0,
    }  # fmt: skip
    assert result["latency"] == {"50 %": {"per_s": 5.0, "p50_s": 1.5, "turns": [each["50 %"] for each in latency]}}
    assert full_rate(run, NATIVE, "peers") == 15.0
    figures = {goal["name"].partition(":")[0]: goal["figure"] for goal in result["goals"] if goal["figure"] is not None}
    assert figures["Kafka to RocksDB beside a replay by the same service"] == 0.5
    assert result["measured"] == dict.fromkeys(("jobs", "latency", "peers"), "a1, 2026-01-01, 2 x any")


def test_page_names_the_commit_of_the_base_build(tmp_path):
    head = Head("a1", MACHINE, {}, asdict(OPTIONS) | {"base": "b2"}, "2026-01-01T10:00:00+00:00")
    run = KeptRun.started(tmp_path / "run", head)
    keep(run, "peers", *[{NATIVE: sample(30.0), of_base(NATIVE): sample(20.0)}] * 2)
    result = result_of(run)
    assert "- `base build`: the same by the build of commit b2.\n" in page(result)
    (found,) = (goal for goal in result["goals"] if "calls only" in goal["name"])
    assert (found["figure"], found["met"]) == (1.5, True)


def test_part_with_some_of_its_turns_is_no_result(run):
    with pytest.raises(RunError, match="the run has no turns"):
        result_of(run)
    keep(run, "peers", {NATIVE: sample(10.0)})
    with pytest.raises(RunError, match="not all turns of: peers; measure them"):
        result_of(run)


def test_page_has_only_what_the_run_measured(run):
    keep(run, "peers", {NATIVE: sample(10.0)}, {NATIVE: sample(20.0)})
    text = page(result_of(run))
    assert f"| {NATIVE} | 15 | 10 to 20 | 20000.0 | 30000.0 | 50000.0 | 4 |" in text
    assert "- Commit a1, 2026-01-01, 2 x any, Python 3, PySpark 4." in text
    assert "each turn begins with another of them. Turns: 2 of `peers`.\n" in text
    assert "not measured" not in text
    others = ("- `rocksdb`", "- `flume`", "- `flink sql`", "- `hbase`", "- `happybase", "## Counting")
    assert [begin for begin in others if f"\n{begin}" in text] == []
    assert "## Kafka to RocksDB" not in text
    assert "## How to run" in text
    assert list(charts(result_of(run))) == ["hbase.svg"]


def test_what_the_page_says_of_a_benchmark_is_said_of_one_that_exists():
    into_rocksdb = {*rungs.ROCKSDB, *rungs.STAGE_RUNGS, *rungs.CHAINS, rungs.ARCHIVE, *NEIGHBOURS}
    into_hbase = {*hbase.PRODUCTS, *hbase.CLUSTER, *hbase.CEILINGS, *hbase.PEER_RUNGS, *hbase.FLUME}
    assert {*LOSSES, *NAMES} <= into_rocksdb | into_hbase
    assert report.MORE_RUNGS.keys() <= into_rocksdb
    assert [part for part in report.MORE_HBASE if not any(part in name for name in into_hbase)] == []


def test_page_names_turns_in_which_the_machine_was_slower(run):
    keep(run, "peers", {NATIVE: sample(10.0)}, {NATIVE: sample(10.0)})
    keep(run, "jobs", {}, s=1.25, attempt=3)
    text = page(result_of(run))
    assert "the 3 turns the median was 1.00 to 1.25 times as long" in text
    assert "2 repetitions.\n  - jobs, turn 1 was outside in the last of them, too.\n" in text


def test_page_shows_cpu_by_process_and_purpose_of_threads(run):
    used = {"HBase": {"calls": 8.8e-4, "flushes": 1e-5, threads.REST: 1e-4}}
    keep(run, "peers", *[{NATIVE: sample(10.0, **used), "ceiling": sample(10.0)}] * 2)
    text = page(result_of(run))
    table = "| process | threads | hbase native RPC | ceiling |\n|---|---|---:|---:|\n"
    assert f"{table}| HBase | all | 9.9 |  |\n|  | calls | 8.8 |  |\n\n" in text


def test_page_shows_counters_and_their_compaction(run):
    counted = {"events": 3_000, "per_s": 10.0, "lowest_per_s": 9.0, "highest_per_s": 11.0, "rows_a_key": 1.25}
    counted |= {"cpu_s_per_million": 5.0, "servers_cpu_s_per_million": 6.0}
    compacted = compaction.Figures(100.0, 50.0, 25.0, 1.0, 1.5)._asdict()
    keep(run, "counters", {"counting": {"a way": counted}, "compaction": {"a store": compacted}})
    keep(run, "killed-compaction", {"killed_compaction": killed_compaction.Killed(1.0, 2.0, 3.0, 0.015, 4.0)._asdict()})
    text = page(result_of(run))
    assert "| a way | 3,000 | 10 | 9 to 11 | 5.0 | 6.0 | 1.2 |" in text
    assert "| a store | 100 | 50 | 25 | 0.75 | 1.0 | 1.5 |" in text
    assert "at most 4 MiB; +1.5% from" in text


def test_charts_of_peers_and_latency(run):
    keep(run, "peers", *[{"ceiling": sample(9.0), FLUME_MEMORY: sample(9.0), NATIVE: sample(8.0)}] * 2)
    at = {"per_s": 1.0, "p50_s": 0.1, "p99_s": 0.2}
    names = ("50 %", "50 %, native RPC", "80 %, native RPC", f"50 %, {FLUME_MEMORY}")
    keep(run, "latency", *[dict.fromkeys(names, at)] * 2)
    drawn = charts(result_of(run))
    assert "Flume 1.11, memory channel" in drawn["hbase.svg"]
    assert "9 (loses events in a crash)" in drawn["hbase.svg"]
    assert "ceiling" not in drawn["hbase.svg"]
    assert "Flume 1.11, memory channel, p99 (loses events in a crash)" in drawn["latency.svg"]


def test_each_turn_begins_with_another_benchmark():
    assert [rotated("abc", number) for number in (1, 2, 3, 4)] == [list("abc"), list("bca"), list("cab"), list("abc")]


def test_parts_of_the_goals_come_before_the_parts_that_need_them():
    names = list(PARTS)
    assert set(DEFAULT_PARTS) <= set(names)
    assert all(not part.needs or names.index(part.needs) < names.index(name) for name, part in PARTS.items())
    assert (PARTS["latency"].turns(OPTIONS), PARTS["jobs"].turns(OPTIONS)) == (2, 1)
