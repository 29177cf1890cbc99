"""The parts of a run: what each measures, on which servers, and how often."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from tests.bench import (
    compaction,
    costs,
    counting,
    dumps,
    feed_reading,
    fuzzy,
    hbase,
    jobs,
    killed_compaction,
    latency,
    load_test,
    micro,
    rungs,
    scale,
    scans,
    soak,
)
from tests.bench.base_build import with_base
from tests.bench.hbase import HBaseRungs
from tests.bench.neighbour import NEIGHBOURS
from tests.bench.rungs import Ladder
from tests.bench.servers import PARTITIONS, hbase_cluster, hbase_server, produced, servers
from tests.bench.watching import Sample, processes_of
from tests.support.servers import HBase, TestFolder

SCANNED_ROWS = 800_000
ALL_TURNS, FEW_TURNS = 1_000, 3
"""Turns of a part at most: few for those that README.md does not show, or that take a long time."""


@dataclass(frozen=True)
class Options:
    """
    What a run is asked for; a run that is continued has the same.

    Attributes:
        events: number of events in the topic into RocksDB.
        hbase_events: for HBase and its peers.
        runs: number of turns of each part that has turns.
        soak_minutes: duration of the soak.
        latency_s: measured seconds at each rate.
        base: commit of a build that runs beside this one; empty for none.
    """

    events: int
    hbase_events: int
    runs: int
    soak_minutes: float
    latency_s: float
    base: str = ""


@dataclass(frozen=True)
class Asked:
    """
    Options of a run, and what does not change its figures.

    Attributes:
        counts: whether tables are counted after each run.
        full_rate: events a second of `hbase native RPC` in this run; None if it was not measured.
    """

    options: Options
    console: Console
    counts: bool = False
    full_rate: float | None = None


Measure = Callable[[int], Iterator[tuple[str, Any]]]
"""Number of a turn -> the name of each benchmark and its figures, as soon as they are measured."""


@dataclass(frozen=True)
class Part:
    """
    A part of a run.

    Attributes:
        opened: starts the servers of the part, and gives what measures a turn.
        section: table of the result with a row for each benchmark; empty if the figures are the result itself.
        most: number of its turns at most.
        needs: a part whose figures it uses.
    """

    opened: Callable[[Asked], AbstractContextManager[Measure]]
    section: str = ""
    most: int = ALL_TURNS
    needs: str = ""

    def turns(self, options: Options) -> int:
        """The number of its turns."""
        return min(options.runs, self.most)


def rotated(names: Sequence[str], number: int) -> list[str]:
    """The benchmarks of a turn; each turn begins with another, since what HBase does later slows down the next one."""
    first = (number - 1) % len(names)
    return [*names[first:], *names[:first]]


def _alternating(names: Sequence[str], one: Callable[[str, str], Sample]) -> Measure:
    """Measure benchmarks in turn, after one run that only warms up the servers."""
    one(names[0], "warm-up")

    def measure(number: int) -> Iterator[tuple[str, Any]]:
        for name in rotated(names, number):
            yield name, asdict(one(name, str(number)))

    return measure


def _into_rocksdb(names: Sequence[str], most: int = ALL_TURNS) -> Part:
    @contextmanager
    def opened(asked: Asked) -> Iterator[Measure]:
        with servers(asked.console) as (folder, kafka, progress):
            ladder = Ladder(
                brokers=kafka.brokers, topic=produced(kafka, asked.options.events, progress), partitions=PARTITIONS,
                events=asked.options.events, folder=folder, servers=processes_of(kafka.server.process),
                base=asked.options.base,
            )  # fmt: skip
            yield _alternating(with_base(names, rungs.COMPARED, asked.options.base), ladder.run)

    return Part(opened, "rungs", most)


@contextmanager
def _hbase(
    asked: Asked, started: Callable[[Path], AbstractContextManager[HBase]] = hbase_server
) -> Iterator[HBaseRungs]:
    """Kafka with a topic of lines, HBase, and the benchmarks over them."""
    with servers(asked.console) as (folder, kafka, progress):
        progress.add_task("starting HBase", total=None)
        with started(folder) as server:
            events = asked.options.hbase_events
            topic = produced(kafka, events, progress)
            yield HBaseRungs(
                kafka, server, topic=topic, partitions=PARTITIONS, events=events, folder=folder, counts=asked.counts,
                base=asked.options.base,
            )  # fmt: skip


def _into_hbase(
    names: Sequence[str],
    started: Callable[[Path], AbstractContextManager[HBase]] = hbase_server,
    *,
    most: int = FEW_TURNS,
    section: str = "hbase",
) -> Part:
    @contextmanager
    def opened(asked: Asked) -> Iterator[Measure]:
        with _hbase(asked, started) as benchmarks:
            yield _alternating(with_base(names, hbase.COMPARED, asked.options.base), benchmarks.run)

    return Part(opened, section, most)


def _latency(rungs_of_turn: Sequence[str]) -> Part:
    @contextmanager
    def opened(asked: Asked) -> Iterator[Measure]:
        full = asked.full_rate
        assert full is not None
        seconds = asked.options.latency_s
        with servers(asked.console) as (folder, kafka, progress):
            progress.add_task("starting HBase", total=None)
            with hbase_server(folder) as server:
                benchmarks = HBaseRungs(kafka, server, topic="", partitions=PARTITIONS, events=0, folder=folder)
                tries = iter(range(1_000))

                def measure(number: int) -> Iterator[tuple[str, Any]]:
                    for load in latency.LOADS:
                        made = latency.ticks(full * load, PARTITIONS, seconds)
                        for rung in rotated(rungs_of_turn, number):
                            at = folder / f"latency-{next(tries)}"
                            found = latency.measured(
                                kafka, server, benchmarks, rung, full * load, made, folder=at, measured_s=seconds
                            )
                            yield latency.load_name(load, rung), found._asdict()

                yield measure

    return Part(opened, "latency", FEW_TURNS, needs="peers")


def _plain(measure: Callable[[Asked], Iterator[tuple[str, Any]]]) -> Part:
    """A part that is measured once, and repeats by itself what has to be repeated."""

    @contextmanager
    def opened(asked: Asked) -> Iterator[Measure]:
        yield lambda _number: measure(asked)

    return Part(opened, most=1)


def _micro(_asked: Asked) -> Iterator[tuple[str, Any]]:
    yield "decorators_ns", costs.decorators()
    yield "sinks_ns", micro.sinks()
    yield "row_keys_ns", micro.row_keys()
    yield "writes_ns", micro.writes()
    yield "chain_of_four_per_s", micro.chain_of_four()


def _in_folder(name: str, measure: Callable[[Path, Options], Any]) -> Part:
    """A part that needs only a folder."""

    def measured(asked: Asked) -> Iterator[tuple[str, Any]]:
        folder = TestFolder()
        try:
            yield name, measure(folder.path, asked.options)
        finally:
            folder.close()

    return _plain(measured)


def _beside_hbase(name: str, measure: Callable[[HBase, Path, Options], Any]) -> Part:
    """A part that needs HBase."""

    def on_hbase(folder: Path, options: Options) -> Any:
        with hbase_server(folder) as server:
            return measure(server, folder / name, options)

    return _in_folder(name, on_hbase)


def _counters(asked: Asked) -> Iterator[tuple[str, Any]]:
    folder = TestFolder()
    try:
        with hbase_server(folder.path) as server:
            yield "counting", counting.run(server, folder.path / "counting", asked.options.runs)
            on_rocksdb = compaction.on_rocksdb(folder.path / "compaction", asked.options.runs)
            on_hbase = compaction.on_hbase(server, asked.options.runs)
            yield "compaction", {compaction.HBASE: on_hbase._asdict(), compaction.ROCKSDB: on_rocksdb._asdict()}
    finally:
        folder.close()


def _dumps(server: HBase, folder: Path, options: Options) -> dict[str, Any]:
    return {
        dumps.HBASE: dumps.on_hbase(server, folder / "hbase", options.runs),
        dumps.ROCKSDB: dumps.on_rocksdb(folder / "rocksdb", options.runs),
    }


def _jobs(asked: Asked) -> Iterator[tuple[str, Any]]:
    with servers(asked.console) as (folder, kafka, progress):
        progress.add_task("a pipeline beside a replay", total=None)
        yield "jobs", jobs.run(kafka, folder / "jobs")._asdict()


def _load_test(server: HBase, _folder: Path, options: Options) -> float:
    return load_test.performance_evaluation(server, options.hbase_events // 2, 2)


def _soak(asked: Asked) -> Iterator[tuple[str, Any]]:
    minutes = asked.options.soak_minutes
    with servers(asked.console) as (folder, kafka, progress):
        progress.add_task(f"soak of {minutes:g} minutes", total=None)
        yield "soak", soak.summary(soak.run(kafka, folder / "soak", minutes, PARTITIONS))


@contextmanager
def _sizes(asked: Asked) -> Iterator[Measure]:
    def measure(_number: int) -> Iterator[tuple[str, Any]]:
        for name, case in scale.cases().items():
            # a new broker for each: ten million events and their copies would fill the disk
            with servers(asked.console) as (folder, kafka, progress):
                progress.add_task(name, total=None)
                yield name, asdict(scale.run(case, kafka, folder / "scale"))

    yield measure


PARTS: Mapping[str, Part] = {
    "micro": _plain(_micro),
    "rocksdb": _into_rocksdb(rungs.ROCKSDB_RUNGS),
    "stages": _into_rocksdb(rungs.STAGE_RUNGS, FEW_TURNS),
    "peers": _into_hbase(hbase.PEER_RUNGS, most=ALL_TURNS),
    "latency": _latency(latency.RUNGS),
    "cluster": _into_hbase(tuple(hbase.CLUSTER), hbase_cluster, most=1),
    "thrift": _into_hbase(hbase.THRIFT_RUNGS, most=ALL_TURNS),
    "thrift-latency": _latency(latency.THRIFT_RUNGS),
    "buckets": _into_hbase(hbase.SPREAD_RUNGS),
    "feeds": _into_hbase(hbase.FEED_RUNGS),
    "neighbours": _into_hbase(NEIGHBOURS, section="rungs"),
    "scans": _beside_hbase(
        "scans_per_s",
        lambda server, _folder, options: scans.rows_per_s(
            server, min(options.hbase_events, SCANNED_ROWS), options.runs
        ),
    ),
    "counters": _plain(_counters),
    "dumps": _beside_hbase("dumps", _dumps),
    "fuzzy-scan": _in_folder("fuzzy_share", lambda folder, _options: fuzzy.share_of_a_full_scan(folder)),
    "feed-reading": _in_folder(
        "feed_changes_per_s", lambda folder, options: feed_reading.changes_per_s(folder, options.runs)
    ),
    "jobs": _plain(_jobs),
    "rows": _into_hbase(hbase.ROW_RUNGS),
    "large-rows": _into_hbase(hbase.LARGE_RUNGS),
    "options": _into_hbase(hbase.OTHER_RUNGS),
    "rocksdb-options": _into_rocksdb(rungs.OPTION_RUNGS, FEW_TURNS),
    "chains": _into_rocksdb(tuple(rungs.CHAINS), FEW_TURNS),
    "killed-compaction": _beside_hbase(
        "killed_compaction", lambda server, folder, _options: killed_compaction.run(server, folder)._asdict()
    ),
    "load-test": _beside_hbase("performance_evaluation_per_s", _load_test),
    "sizes": Part(_sizes, "scale", most=1),
    "soak": _plain(_soak),
}
"""Name -> part, in the order in which they are measured."""
DEFAULT_PARTS = (
    "micro", "rocksdb", "peers", "latency", "cluster", "stages", "thrift", "thrift-latency", "buckets", "feeds",
    "neighbours", "scans", "counters", "dumps", "fuzzy-scan", "feed-reading", "jobs", "rows", "large-rows",
)  # fmt: skip
"""Parts that the goals, README.md and docs/operations/sizing.md need, except those that take hours."""
