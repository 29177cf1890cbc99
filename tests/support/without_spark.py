"""Runs a micro-batch without Spark: the real task and loop, with a memory store."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ingest.api import Batch, Record, Store, TaskSpec
from ingest.catalog import Catalog
from ingest.config.model import Configuration
from ingest.pipeline.in_process import InProcessHost
from ingest.pipeline.loop import MicroBatch, run_until_durable
from ingest.pipeline.splits import first_places, ranked
from ingest.pipeline.task import Task
from ingest.plan.assemble import live_task, plan_of
from ingest.receipt import Counts, Receipt
from ingest.service.schemas import schema_committers
from sinks.memory import MemoryStore
from sinks.table_records import ensure_declared
from sinks.writing.apply_staged import apply_staged
from sinks.writing.driver_store import DriverStore
from sinks.writing.families import FamilyRegistry
from sinks.writing.messages import Prepared, StoreResult
from sinks.writing.staged_committer import StagedCommitter

if TYPE_CHECKING:  # it imports the clients of real servers, which no test of this module needs
    from tests.support.servers import Given


def spec_of(batch_time_ms: int, *, attempt: str = "1-0", prepared: Mapping[str, Prepared] | None = None) -> TaskSpec:
    """The spec of a task."""
    packed = {name: message.packed() for name, message in (prepared or {}).items()}
    return TaskSpec(Batch(str(batch_time_ms), batch_time_ms, attempt), prepared=packed)


def staging_spec(folder: Path, *, attempt: str = "1-0") -> TaskSpec:
    """The spec of a task that stages the puts of the store `logs`, whose table `t` has the family `f`."""
    return spec_of(5_000, attempt=attempt, prepared={"logs": Prepared(str(folder), {"t": frozenset({b"f"})})})


def apply_results(store: Store, receipt: Receipt, name: str = "logs") -> None:
    """Apply the staged files of a task."""
    staged = StoreResult.unpacked(receipt.results[name].payload).staged
    apply_staged(store, [] if staged is None else [staged])


class WithoutSpark:
    """
    A pipeline of a configuration, with a memory store in place of its store.

    Args:
        incoming: folder for staged files.
    """

    def __init__(self, configuration: Configuration, pipeline: str, incoming: Path) -> None:
        name = next(iter(configuration.stores))
        plan = plan_of(configuration, configuration.pipelines[pipeline], Catalog())
        self.task: Task = live_task(plan)
        self._needs_splits = plan.needs_splits
        self.store = MemoryStore()
        self.store.open()
        declared = {name: table.spec() for name, table in configuration.tables.items()}
        for spec in declared.values():
            ensure_declared(self.store, spec)
        driver = DriverStore(self.store)
        families = FamilyRegistry(driver, declared, {None: 20}, {})
        self._committers = {
            **schema_committers(configuration, plan),
            name: StagedCommitter(driver, families, incoming, declared=declared),
        }

    def run(self, records: Sequence[Record], batch_time_ms: int) -> tuple[Counts, list[bytes]]:
        """Run one micro-batch until it is durable; returns its counts and dead letters."""
        splits = ranked(first_places(records)) if self._needs_splits else ()
        micro_batch = MicroBatch(str(batch_time_ms), batch_time_ms, "1", splits=splits)
        return run_until_durable(micro_batch, self._committers, InProcessHost(self.task, records))


def records_of(given: "Sequence[Given]", topic: str = "topic") -> list[Record]:
    """Records of partition 0 as Kafka would return them."""
    return [
        Record(topic, 0, offset, _bytes(one.key), _bytes(one.value), one.timestamp_ms or 0, tuple(one.headers))
        for offset, one in enumerate(given)
    ]


def _bytes(value: bytes | str | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value
