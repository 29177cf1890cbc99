"""
Mutants: attr2hbase with one deliberate bug each, to show that the ledger detects it.

A mutant patches modules right after their import. Some also inject the fault that their bug handles wrongly. Each
creates a file when its bug has acted.
"""

import contextlib
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[3]
VARIABLE = "LEDGER_MUTANT"
ACTED = "LEDGER_MUTANT_ACTED"
LATE_S = 3.0
SMALL = 60  # rows; full chunks are larger, the last chunk of a small batch is smaller

Patch = Callable[[Any], None]


class Mutant(NamedTuple):
    """
    One bug.

    Attributes:
        about: description of the bug.
        patches: module -> function that patches it after its import.
    """

    about: str
    patches: Mapping[str, Patch]


def acted() -> None:
    """Record that the bug has acted."""
    Path(os.environ[ACTED]).touch()


def unavailable() -> None:
    """Raise the error of an unavailable store."""
    from ingest.api import StoreUnavailableError

    raise StoreUnavailableError("the store does not answer")


def ack_before_flush(module: Any) -> None:
    """The flush of a batch is delayed to the beginning of the next batch."""
    start, flush = module.BufferedMutator.start, module.BufferedMutator.flush

    def late_start(self: Any, *arguments: Any) -> None:
        # before the real start, which empties the buffers
        if getattr(self, "owes_a_flush", False):
            self.owes_a_flush = False
            flush(self)
        start(self, *arguments)

    def no_flush(self: Any) -> None:
        self.owes_a_flush = True
        acted()

    module.BufferedMutator.start, module.BufferedMutator.flush = late_start, no_flush


def swallow_one_chunk(module: Any) -> None:
    """The error of one chunk is not reported."""
    apply = module.RetryingStore.apply
    calls = [0]

    def swallowing(self: Any, chunk: Any, *arguments: Any, **named: Any) -> None:
        calls[0] += 1
        if calls[0] != 3:
            apply(self, chunk, *arguments, **named)
            return
        try:
            unavailable()
        except module.StoreUnavailableError:
            acted()

    module.RetryingStore.apply = swallowing


def drop_partial_buffer(module: Any) -> None:
    """Chunks that are not full are discarded at the end."""
    take = module.WriteBuffer.take

    def dropping(self: Any) -> Any:
        for key in [key for key, chunk in self._chunks.items() if len(chunk.mutations) < SMALL]:
            self._taken(key)
            acted()
        return take(self)

    module.WriteBuffer.take = dropping


def block_one_partition(module: Any) -> None:
    """A fault, no bug: the store is unavailable at the end of one task."""
    flush = module.BufferedMutator.flush
    calls = [0]

    def blocked(self: Any) -> None:
        calls[0] += 1
        if calls[0] == 3:
            with contextlib.suppress(FileExistsError):
                Path(f"{os.environ[ACTED]}.blocked").touch(exist_ok=False)
                unavailable()
        flush(self)

    module.BufferedMutator.flush = blocked


def farthest_partition_decides(module: Any) -> None:
    """A batch is acknowledged when one of its tasks is durable."""
    worst = module.worst_of

    def best(receipts: list[Any]) -> Any:
        done = [receipt for receipt in receipts if receipt.status is module.TaskStatus.DURABLE]
        if done and worst(receipts).status is module.TaskStatus.BLOCKED:
            acted()
            receipts[:] = done  # the committer takes the results of all receipts
            return done[0]
        return worst(receipts)

    module.worst_of = best


def return_when_stopped(module: Any) -> None:
    """The function for a batch returns when the service stops, so Spark acknowledges the batch."""
    on_batch = module.BatchRunner.on_batch

    def returning(self: Any, frame: Any, batch_id: int) -> None:
        try:
            on_batch(self, frame, batch_id)
        except module.AbandonedError:
            acted()

    module.BatchRunner.on_batch = returning


def store_away_at_commits(module: Any) -> None:
    """A fault, no bug: the store is unavailable when the staged files of the third batch are applied."""
    apply_staged = module.apply_staged
    calls = [0]

    def blocked(*arguments: Any, **named: Any) -> Any:
        calls[0] += 1
        if calls[0] >= 3:
            unavailable()
        return apply_staged(*arguments, **named)

    module.apply_staged = blocked


def stop_spark_late(module: Any) -> None:
    """A fault, no bug: Spark stops late, so that it acknowledges a batch whose function returned."""
    stop_spark = module._stop

    def late(query: Any) -> None:
        time.sleep(LATE_S)
        stop_spark(query)

    module._stop = late


def clock_for_cells(module: Any) -> None:
    """Cells get the time of the write, not that of their batch."""
    run = module.Task.run

    def running(self: Any, records: Any, spec: Any) -> Any:
        acted()
        return run(self, records, replace(spec, batch=replace(spec.batch, time_ms=time.time_ns() // 1_000_000)))

    module.Task.run = running


def forget_dead_letters(module: Any) -> None:
    """Dead letters are counted and not published."""
    init = module.BatchRunner.__init__

    def forgetting(self: Any, **named: Any) -> None:
        publish = named["publish"]

        def nothing(dead_letters: Sequence[bytes], *arguments: Any) -> None:
            if dead_letters:
                acted()
            publish([], *arguments)

        init(self, **{**named, "publish": nothing})

    module.BatchRunner.__init__ = forgetting


def tear_rows(module: Any) -> None:
    """Some rows are written without one of their cells."""
    add = module.WriteBuffer.add
    calls = [0]

    def tearing(self: Any, table: str, mutation: Any) -> Any:
        calls[0] += 1
        if calls[0] % 500 == 0:
            mutation.columns.pop(b"d:body")
            acted()
        return add(self, table, mutation)

    module.WriteBuffer.add = tearing


def first_value_wins(module: Any) -> None:
    """The first of several values of a row in one batch is stored."""
    add_put = module._add_put

    def keeping(pending: Any, put: Any) -> None:
        earlier = pending.puts.get(put.timestamp_ms)
        if earlier is not None:
            put = replace(put, columns={**put.columns, **earlier})
            acted()
        add_put(pending, put)

    module._add_put = keeping


def metrics_that_lie(module: Any) -> None:
    """One event too many is counted as stored in each batch."""
    observe = module.Metrics.observe_batch

    def lying(self: Any, pipeline: str, counts: Any, seconds: float) -> None:
        counts.stored += 1
        acted()
        observe(self, pipeline, counts, seconds)

    module.Metrics.observe_batch = lying


MUTANTS = {
    "ack_before_flush": Mutant(
        "acknowledges a batch before it is flushed", {"sinks.writing.mutator": ack_before_flush}
    ),
    "swallow_one_chunk": Mutant("swallows the error of one chunk", {"sinks.writing.retrying_store": swallow_one_chunk}),
    "drop_partial_buffer": Mutant(
        "drops the last buffer when it is not full", {"sinks.writing.buffer": drop_partial_buffer}
    ),
    "commit_the_maximum": Mutant(
        "commits the highest offset, past one that is not done",
        {"sinks.writing.mutator": block_one_partition, "ingest.pipeline.loop": farthest_partition_decides},
    ),
    "return_when_stopped": Mutant(
        "returns from the batch when the service stops",
        {
            "sinks.writing.staged_committer": store_away_at_commits,
            "ingest.spark.streaming.batch_runner": return_when_stopped,
            "ingest.spark.streaming.query": stop_spark_late,
        },
    ),
    "clock_for_cells": Mutant("uses the clock as the timestamp of cells", {"ingest.pipeline.task": clock_for_cells}),
    "forget_dead_letters": Mutant(
        "counts dead letters and does not publish them", {"ingest.spark.streaming.batch_runner": forget_dead_letters}
    ),
    "tear_rows": Mutant("writes rows without one of their cells", {"sinks.writing.buffer": tear_rows}),
    "first_value_wins": Mutant("keeps the first of several values of a row", {"sinks.folding.fold": first_value_wins}),
    "metrics_that_lie": Mutant("counts more than it stores", {"ingest.observe.metrics": metrics_that_lie}),
}


class _Patching(MetaPathFinder):
    """Changes modules as they are imported."""

    def __init__(self, patches: Mapping[str, Patch]) -> None:
        self._patches = patches

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name not in self._patches:
            return None
        spec = PathFinder.find_spec(name, path, target)
        assert spec is not None and spec.loader is not None, f"no module {name}"  # noqa: PT018
        load = spec.loader.exec_module

        def patched(module: ModuleType) -> None:
            load(module)
            self._patches[name](module)

        spec.loader.exec_module = patched  # type: ignore[method-assign]
        return spec


def install(name: str) -> None:
    """Make this process a mutant."""
    sys.meta_path.insert(0, _Patching(MUTANTS[name].patches))


def environment(name: str, proof: Path) -> dict[str, str]:
    """Environment that makes a process a mutant; the file `proof` is created when its bug has acted."""
    return {"PYTHONPATH": f"{FOLDER}:{ROOT}", VARIABLE: name, ACTED: str(proof)}
