"""The tables with deferred updates of a pipeline, at its start."""

from collections.abc import Mapping
from typing import Any

from ingest.api import ConfigError, Source
from ingest.config.model import Configuration, declared_in
from ingest.plan.assemble import Plan
from ingest.spark.streaming.batch_time import BatchTimes
from ingest.spark.streaming.checkpoint import Checkpoint
from sinks.writing.driver_store import DriverStore
from sinks.writing.owned_tables import OwnedTables


def owned_tables(configuration: Configuration, plan: Plan, stores: Mapping[str, DriverStore]) -> OwnedTables:
    """The tables with deferred updates that the sinks of a pipeline name."""
    tables = {}
    for name, updates in plan.updates.items():
        declared = declared_in(name, configuration.tables.values())
        tables[name] = [declared[table] for table in updates]
    return OwnedTables(plan.pipeline, stores, tables)


def claim_tables(tables: OwnedTables, source: Source[Any], checkpoint: Checkpoint, times: BatchTimes) -> None:
    """
    Claim the tables of a pipeline; under a new checkpoint, remove the updates that are above their marks.

    These belong to a micro-batch that was not acknowledged, and the new checkpoint starts at the marks, so its events
    are read again.

    Raises:
        ConfigError: the source cannot start at the marks.
        IngestError: as `OwnedTables.claim` and `OwnedTables.take_back`.
    """
    tables.claim()
    mark = tables.mark()
    if mark is not None:
        times.start_after([str(mark.time_ms)])
    if not checkpoint.exists:
        if mark is not None and not source.takes_offset:
            raise ConfigError(
                f'source "{source.kind}" cannot start where the deferred updates of its tables end',
                hint="restore the checkpoint, or write to a new table",
            )
        tables.take_back()
