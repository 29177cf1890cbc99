"""The way of an event cut off after each stage, as functions for mapInArrow; each gives one row: the events it saw."""

import pickle
from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa

from ingest.build import Plan, live_chain, live_decoder, live_mappers
from ingest.chain import Kept
from ingest.spark.rows import records_of

SCHEMA = "events long"
STAGES = ("python", "decode", "chain", "map")

_live: dict[bytes, tuple[Callable, Callable, Callable]] = {}


def stage(name: str, plan: bytes, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Run one partition up to a stage."""
    count = _to_python(batches) if name == "python" else _further(name, _parts(plan), batches)
    yield pa.RecordBatch.from_pydict({"events": [count]})


def _parts(plan: bytes) -> tuple[Callable, Callable, Callable]:
    if plan not in _live:
        made: Plan = pickle.loads(plan)  # noqa: S301 - our own plan
        _live[plan] = (live_decoder(made).decode, live_chain(made).run, live_mappers(made)[0][1].map)
    return _live[plan]


def _to_python(batches: Iterable[pa.RecordBatch]) -> int:
    return sum(1 for _ in records_of(batches))


def _further(name: str, parts: tuple[Callable, Callable, Callable], batches: Iterable[pa.RecordBatch]) -> int:
    decode, run, to_cells = parts
    chained, mapped = name in ("chain", "map"), name == "map"
    count = 0
    for record in records_of(batches):
        event = decode(record)
        if chained:
            for outcome in run(event):
                if mapped and type(outcome) is Kept:
                    to_cells(outcome.event, 1_000)
        count += 1
    return count
