"""Records through a pipeline without Spark, into its real stores: how dead letters are run again."""

import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from ingest.api import Record, RecordPlace
from ingest.build import live_task, plan_of
from ingest.catalog import Catalog
from ingest.config.model import Configuration, Pipeline
from ingest.dead_letters.replay import Components
from ingest.receipt import Receipt, RefusedRows, Verdict, gather_refused
from ingest.service.stores import driver_stores, family_registry, incoming_folder
from ingest.task import Assignment
from sinks.delivery import deliver


class Replayer:
    """
    Runs records through a pipeline; see `ingest.dead_letters.replay.Process`.

    Opens the pipeline's stores for as long as the block lasts, so a store with one writer is refused while the service
    runs.
    """

    def __init__(self, configuration: Configuration, pipeline: Pipeline, catalog: Catalog) -> None:
        self._configuration = configuration
        self._plan = plan_of(configuration, pipeline, catalog)
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as opened:
            self._stores = driver_stores(self._configuration, [self._plan], opened)
            for store in self._stores.values():
                store.open()
            self._families = family_registry(self._configuration, self._plan, self._stores)
            self._incoming = {
                name: incoming_folder(self._configuration, name, self._plan.pipeline) / "replay"
                for name, store in self._stores.items()
                if store.capabilities.written_by_driver
            }
            for folder in self._incoming.values():
                opened.callback(shutil.rmtree, folder, ignore_errors=True)
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
        """What the parts of the pipeline are called now."""
        return Components(
            sinks=frozenset(part.name for part in self._plan.sinks),
            decorators=frozenset(part.name for part in self._plan.decorators),
        )

    def __call__(
        self, records: Sequence[Record], batch_time_ms: int, only: Mapping[RecordPlace, frozenset[str]]
    ) -> Receipt:
        """Run records at a batch time, each into the sinks it is for; what the receipt says is durable, is."""
        refused: dict[str, RefusedRows] = {}
        while True:
            receipt = self._task.run(records, self._assignment(batch_time_ms, only, refused))
            match receipt.verdict:
                case Verdict.NEEDS_FAMILIES:
                    self._families.create_needed([receipt])
                case Verdict.REFUSED:
                    gather_refused(refused, [receipt])
                case Verdict.DURABLE:
                    for name in self._incoming:
                        with self._stores[name].held() as store:
                            deliver(store, [file for file in receipt.handed if file.store == name])
                    return receipt
                case _:
                    return receipt

    def _assignment(
        self, batch_time_ms: int, only: Mapping[RecordPlace, frozenset[str]], refused: Mapping[str, RefusedRows]
    ) -> Assignment:
        return Assignment(
            batch_time_ms=batch_time_ms,
            incoming={name: str(folder) for name, folder in self._incoming.items()},
            families=self._families.known(),
            compressions=self._families.compressions(),
            closed=self._families.closed(),
            refused=refused,
            only=only,
            are_apart=True,
        )
