"""A micro-batch from records to rows without Spark: the task as a worker runs it, and a memory store as its driver."""

from collections.abc import Sequence
from pathlib import Path

from ingest.api import Record
from ingest.build import live_task, plan_of
from ingest.catalog import Catalog
from ingest.config.model import Configuration
from ingest.receipt import Receipt, Verdict
from ingest.task import Assignment, Task
from sinks.delivery import deliver
from sinks.driver_store import DriverStore
from sinks.families import FamilyRegistry
from sinks.memory import MemoryStore
from tests.support.servers import Given


class WithoutSpark:
    """
    One pipeline of a configuration whose only store is in memory.

    Args:
        incoming: folder for what the task hands over.
    """

    def __init__(self, configuration: Configuration, pipeline: str, incoming: Path) -> None:
        self._store_name = next(iter(configuration.stores))
        self._incoming = incoming
        self.task: Task = live_task(plan_of(configuration, configuration.pipelines[pipeline], Catalog()))
        self.store = MemoryStore()
        self.store.open()
        declared = {(table.store, name): table.spec() for name, table in configuration.tables.items()}
        for spec in declared.values():
            self.store.ensure_table(spec)
        self._families = FamilyRegistry(
            {self._store_name: DriverStore(self.store)}, declared, {(self._store_name, None): 20}, {}
        )

    def run(self, records: Sequence[Record], batch_time_ms: int) -> Receipt:
        """One micro-batch of one partition, until it is durable."""
        while True:
            receipt = self.task.run(records, self._assignment(batch_time_ms))
            match receipt.verdict:
                case Verdict.DURABLE:
                    deliver(self.store, receipt.handed)
                    return receipt
                case Verdict.NEEDS_FAMILIES:
                    self._families.create_needed([receipt])
                case _:
                    raise AssertionError(f"{receipt.verdict}: {receipt.code}: {receipt.message}")

    def _assignment(self, batch_time_ms: int) -> Assignment:
        return Assignment(
            batch_time_ms=batch_time_ms,
            incoming={self._store_name: str(self._incoming)},
            families=self._families.known(),
            closed=self._families.closed(),
        )


def records_of(given: Sequence[Given], topic: str = "topic") -> list[Record]:
    """Records of partition 0 as Kafka would give them out again."""
    return [
        Record(topic, 0, offset, _bytes(one.key), _bytes(one.value), one.timestamp_ms or 0, tuple(one.headers))
        for offset, one in enumerate(given)
    ]


def _bytes(value: bytes | str | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value
