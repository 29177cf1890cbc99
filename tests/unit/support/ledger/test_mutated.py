"""What each mutant does to the product, in the process of the test; tests/fault shows that the ledger detects them."""

import importlib
import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar, cast

import pytest
from pyspark.sql import DataFrame

from ingest.api import (
    Capabilities,
    FamilySpec,
    Mutation,
    Put,
    Scan,
    StoreUnavailableError,
    TableSpec,
    TaskSpec,
    WriteCounts,
)
from ingest.dead_letters.budget import ErrorBudget
from ingest.observe.metrics import Metrics
from ingest.pipeline.loop import LoopHost, MicroBatch, run_until_durable
from ingest.receipt import Counts, Receipt, TaskStatus
from ingest.spark.streaming.batch_errors import AbandonedError
from ingest.spark.streaming.batch_observer import BatchObserver
from ingest.spark.streaming.batch_runner import BatchRunner
from sinks.folding.fold import Fold
from sinks.memory import MemoryStore
from sinks.writing.buffer import WriteBuffer
from sinks.writing.messages import Prepared
from sinks.writing.sending import DirectSender
from sinks.writing.store_sink import StoreSink
from tests.support.ledger.mutants.catalogue import ACTED, MUTANTS, SMALL
from tests.support.way import sink_of
from tests.support.without_spark import spec_of

T = TypeVar("T")
Mutate = Callable[[str], Path]
HBASE_LIKE = Capabilities(written_by_driver=False, creates_families=False, creates_tables=False)


@pytest.fixture
def mutate(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Mutate:
    """Makes this process a mutant until the end of the test; returns the file that its bug creates."""

    def mutated(name: str) -> Path:
        proof = tmp_path / "acted"
        monkeypatch.setenv(ACTED, str(proof))
        for module_name, patch in MUTANTS[name].patches.items():
            module = importlib.import_module(module_name)
            owners = [
                each for each in vars(module).values() if inspect.isclass(each) and each.__module__ == module_name
            ]
            for owner in (module, *owners):
                for attribute, function in list(vars(owner).items()):
                    if inspect.isfunction(function):
                        monkeypatch.setattr(owner, attribute, function)  # the end of the test restores it
            patch(module)
        return proof

    return mutated


class AwayStore(MemoryStore):
    """A store that is unavailable for writes."""

    def apply(self, table: str, mutations: Sequence[Mutation]) -> None:
        raise StoreUnavailableError("away")


class Stored:
    """A sink of a memory store with the table `t`, and what is stored in it."""

    def __init__(self, store: MemoryStore | None = None) -> None:
        self.store = store or MemoryStore()
        self.store.open()
        self.store.ensure_table(TableSpec("t", (FamilySpec(b"d"),)))
        self._sink: StoreSink = sink_of([DirectSender(self.store)], capabilities=HBASE_LIKE, buffer_bytes=1 << 20)

    def begin(self, number: int) -> None:
        """Start a flush cycle."""
        self._sink.begin(spec_of(number), Prepared().packed(), WriteCounts())

    def cycle(self, number: int, keys: Sequence[bytes]) -> None:
        """A flush cycle that writes rows."""
        self.begin(number)
        for key in keys:
            self._sink.add("t", Put(key, {b"d:body": b"v", b"d:odd": b"v"}, number))
        self._sink.flush()

    def keys(self) -> list[bytes]:
        """The row keys in the store."""
        return [row.key for row in self.store.scan("t", Scan())]


def test_flush_happens_at_the_start_of_the_next_cycle(mutate: Mutate) -> None:
    proof = mutate("ack_before_flush")
    stored = Stored()
    stored.cycle(1, [b"a"])
    assert (stored.keys(), proof.exists()) == ([], True)
    stored.begin(2)
    assert stored.keys() == [b"a"]
    stored.cycle(3, [b"b"])
    assert stored.keys() == [b"a"]
    stored.begin(4)
    assert stored.keys() == [b"a", b"b"]


def test_only_the_error_of_the_third_chunk_is_swallowed(mutate: Mutate) -> None:
    proof = mutate("swallow_one_chunk")
    stored = Stored()
    for number, key in enumerate([b"a", b"b"], start=1):
        stored.cycle(number, [key])
    assert not proof.exists()
    stored.cycle(3, [b"c"])
    stored.cycle(4, [b"d"])
    assert (stored.keys(), proof.exists()) == ([b"a", b"b", b"d"], True)


def test_other_chunks_report_that_the_store_is_unavailable(mutate: Mutate) -> None:
    proof = mutate("swallow_one_chunk")
    stored = Stored(AwayStore())
    with pytest.raises(StoreUnavailableError, match="away"):
        stored.cycle(1, [b"a"])
    assert not proof.exists()


def test_only_small_chunks_are_dropped_at_the_end(mutate: Mutate) -> None:
    proof = mutate("drop_partial_buffer")
    stored = Stored()
    full = [b"%03d" % number for number in range(SMALL)]
    stored.cycle(1, full)
    assert (stored.keys(), proof.exists()) == (full, False)
    stored.cycle(2, [b"a%03d" % number for number in range(SMALL - 1)])
    assert (stored.keys(), proof.exists()) == (full, True)


def test_dropped_chunks_occupy_no_buffer(mutate: Mutate) -> None:
    mutate("drop_partial_buffer")
    buffer = WriteBuffer(1_000)
    buffer.add("t", Put(b"r", {b"d:body": b"v"}, 1))
    assert (list(buffer.take()), buffer.buffered_bytes) == ([], 0)


class TwoTasks(LoopHost):
    """A batch of two tasks; one cannot reach the store."""

    def run_tasks(self, spec: TaskSpec, *, on_one_slot: bool) -> Sequence[Receipt]:
        return [Receipt(status=TaskStatus.DURABLE, counts=Counts(read=7)), Receipt(status=TaskStatus.BLOCKED)]

    def until_possible(self, action: Callable[[], T]) -> T:
        return action()

    def blocked(self, code: str, message: str, attempts: int) -> None:
        raise StoreUnavailableError("blocked")


def test_batch_is_durable_although_one_of_its_tasks_is_blocked(mutate: Mutate) -> None:
    batch = MicroBatch("1", 1, "1")
    with pytest.raises(StoreUnavailableError, match="blocked"):
        run_until_durable(batch, {}, TwoTasks())
    proof = mutate("commit_the_maximum")
    counts, _ = run_until_durable(batch, {}, TwoTasks())
    assert (counts.read, proof.exists()) == (7, True)


def test_store_is_unavailable_at_the_end_of_one_task(mutate: Mutate) -> None:
    mutate("commit_the_maximum")
    stored = Stored()
    stored.cycle(1, [b"a"])
    stored.cycle(2, [b"b"])
    with pytest.raises(StoreUnavailableError):
        stored.cycle(3, [b"c"])
    stored.cycle(4, [b"d"])
    assert stored.keys() == [b"a", b"b", b"d"]


def test_batch_of_a_stopped_service_returns(mutate: Mutate) -> None:
    runner = BatchRunner(
        pipeline="p",
        plan=b"",
        batch_times=None,
        committers={},
        error_budget=ErrorBudget(share=1.0, min_events=1, window_s=1.0),
        publish=lambda *_: None,
        observer=cast("BatchObserver", None),
        check_owner=lambda: None,
    )
    runner.stop()
    frame = cast("DataFrame", None)  # the batch does not start
    with pytest.raises(AbandonedError):
        runner.on_batch(frame, 1)
    proof = mutate("return_when_stopped")
    runner.on_batch(frame, 1)
    assert proof.exists()


def test_some_rows_lack_a_cell(mutate: Mutate) -> None:
    proof = mutate("tear_rows")
    stored = Stored()
    stored.cycle(1, [b"%04d" % number for number in range(1_000)])
    torn = [row.key for row in stored.store.scan("t", Scan()) if [cell.qualifier for cell in row.cells] == [b"odd"]]
    assert (torn, proof.exists()) == ([b"0499", b"0999"], True)


def test_first_value_of_a_row_is_kept(mutate: Mutate) -> None:
    proof = mutate("first_value_wins")
    fold = Fold()
    for value in (b"1", b"2"):
        fold.add("t", Put(b"r", {b"d:body": value}, 1))
    assert [put.columns for _, put in fold.puts()] == [{b"d:body": b"1"}]
    assert proof.exists()


def test_metrics_count_more_than_is_stored(mutate: Mutate) -> None:
    proof = mutate("metrics_that_lie")
    metrics = Metrics(["p"], process=False)
    metrics.observe_batch("p", Counts(stored=5), 0.1)
    assert 'attr2hbase_events_stored_total{pipeline="p"} 6.0' in metrics.render()[1].decode()
    assert proof.exists()
