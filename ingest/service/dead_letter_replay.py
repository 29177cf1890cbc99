"""Replay of dead letters: records through a pipeline into its stores, without Spark."""

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from hashlib import sha256
from types import TracebackType
from typing import Self

from ingest.api import Record, RecordPlace
from ingest.catalog import Catalog
from ingest.config.model import Configuration, Pipeline
from ingest.dead_letters.replay import Components
from ingest.pipeline.in_process import InProcessHost
from ingest.pipeline.loop import MicroBatch, run_until_durable
from ingest.pipeline.splits import ranked
from ingest.plan.assemble import live_task, plan_of
from ingest.receipt import Counts
from ingest.service.replay_lock import replay_lock
from ingest.service.stores import committers_of, driver_stores


class DeadLetterReplay:
    """
    Runs records through a pipeline; see `ingest.dead_letters.replay.RunRecords`.

    Opens the pipeline's stores until the block ends, so a store with a single writer is refused while the service runs.
    Another replay of the pipeline on this machine is refused too, as it would replay the same dead letters.
    """

    def __init__(self, configuration: Configuration, pipeline: Pipeline, catalog: Catalog) -> None:
        self._configuration = configuration
        self._plan = replace(plan_of(configuration, pipeline, catalog), is_replay=True)
        self._lock = replay_lock(configuration, pipeline)
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as opened:
            opened.enter_context(self._lock)
            stores = driver_stores(self._configuration, [self._plan], opened)
            self._committers = committers_of(self._configuration, self._plan, stores)
            for committer in self._committers.values():
                opened.callback(committer.close)
                committer.recover()
            self._task = live_task(self._plan)
            opened.callback(self._task.close)
            self._opened = opened.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.close()

    @property
    def components(self) -> Components:
        """The names of the pipeline's current sinks and decorators."""
        return Components(
            sinks=frozenset(component.name for component in self._plan.sinks),
            decorators=frozenset(component.name for component in self._plan.decorators),
        )

    def __call__(
        self, records: Sequence[Record], batch_time_ms: int, sinks_by_record: Mapping[RecordPlace, frozenset[str]]
    ) -> tuple[Counts, list[bytes]]:
        """Run records at a batch time, each into its sinks; records counted as stored are durable."""
        micro_batch = MicroBatch(
            _name(records, batch_time_ms, sinks_by_record),
            batch_time_ms,
            f"{time.monotonic_ns()}",
            sinks_by_record=sinks_by_record,
            split_per_record=True,
            splits=ranked(record.place for record in records) if self._plan.needs_splits else (),
        )
        return run_until_durable(micro_batch, self._committers, InProcessHost(self._task, records))


def _name(records: Sequence[Record], batch_time_ms: int, sinks_by_record: Mapping[RecordPlace, frozenset[str]]) -> str:
    """
    A batch name derived from the records and their sinks: a subset of the dead letters is a different batch.

    A sink without a store replaces a batch of the same name. So a repeated replay, of the same records into the same
    sinks, stores their events once, while a replay into other sinks removes nothing.
    """
    parts = [(record.place, sorted(sinks_by_record.get(record.place, ()))) for record in records]
    return f"{batch_time_ms}-{sha256(repr(parts).encode()).hexdigest()[:16]}"
