"""The path of an event up to each stage, as functions for mapInArrow; each returns one row, the number of events."""

import pickle
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pyarrow as pa

from ingest.api import Batch, Event, TaskSpec
from ingest.pipeline.task import Task
from ingest.plan.assemble import live_chain, live_decoder, live_mappers, live_task
from ingest.plan.plan import Plan
from ingest.receipt import TaskStatus
from ingest.spark.streaming.rows import records_of
from sinks.writing.messages import Prepared
from tests.bench.workload import FAMILY, STORE, TABLE

SCHEMA = "events long"
STAGES = ("python", "decode", "chain", "map", "encode")
_BATCH_MS = 1_785_000_000_000

_live: dict[bytes, tuple[Callable, Callable, Callable]] = {}
_tasks: dict[bytes, Task] = {}


def stage(name: str, plan: bytes, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Run one partition up to a stage."""
    match name:
        case "python":
            count = sum(1 for _ in records_of(batches))
        case "encode":
            count = _encoded(plan, batches)
        case _:
            count = _further(name, _parts(plan), batches)
    yield pa.RecordBatch.from_pydict({"events": [count]})


def _parts(plan: bytes) -> tuple[Callable, Callable, Callable]:
    if plan not in _live:
        made: Plan = pickle.loads(plan)  # noqa: S301 - our own plan
        _live[plan] = (live_decoder(made).decode, live_chain(made).run, live_mappers(made)[0][1].map)
    return _live[plan]


def _further(name: str, parts: tuple[Callable, Callable, Callable], batches: Iterable[pa.RecordBatch]) -> int:
    decode, run, to_cells = parts
    chained, mapped = name in ("chain", "map"), name == "map"
    count = 0
    for record in records_of(batches):
        event = decode(record)
        if chained:
            for outcome in run(event):
                if mapped and type(outcome) is Event:
                    to_cells(outcome, _BATCH_MS)
        count += 1
    return count


def _encoded(plan: bytes, batches: Iterable[pa.RecordBatch]) -> int:
    """Run a complete task for a store that the driver writes, and discard its staged files."""
    if plan not in _tasks:
        _tasks[plan] = live_task(pickle.loads(plan))  # noqa: S301 - our own plan
    with tempfile.TemporaryDirectory() as folder:
        prepared = Prepared(str(Path(folder) / "incoming"), {TABLE: frozenset([FAMILY.encode()])})
        spec = TaskSpec(Batch(str(_BATCH_MS), _BATCH_MS, "1"), prepared={STORE: prepared.packed()})
        receipt = _tasks[plan].run(records_of(batches), spec)
    if receipt.status is not TaskStatus.DURABLE:
        raise RuntimeError(f"{receipt.status}: {receipt.message}")
    return receipt.counts.stored
