"""
Writes rows to a table: planned beside the driver, written in the tasks.

Tasks write to a store on other machines. A store that only one process may write gets staged files from them, which
`commit` applies beside the driver.
"""

import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from ingest.api import (
    Batch,
    BucketsDifferError,
    ConfigError,
    ConflictError,
    FileStore,
    MappingError,
    Put,
    Store,
    StoreSettings,
    TaskSpec,
    WriteCounts,
)
from ingest.api.cells import MAX_ROW_KEY_BYTES, rejection_reason
from ingest.api.notation import shown
from ingest.catalog import table_features
from ingest.clock import now_ms
from ingest.config.model import Component
from ingest.durable import make_folder
from ingest.plan.assemble import live_store, store_sink
from ingest.plan.stores import missing_table
from ingest.spark.datasource.mutations import RowMapper
from ingest.spark.datasource.tables import SourceTable
from sinks.rowkeys.row_format import RowFormat
from sinks.table_records import ensure_declared
from sinks.writing.apply_staged import apply_staged
from sinks.writing.messages import Prepared, StoreResult
from sinks.writing.staging import FileFormat, remove_leftovers

CALL_BYTES = 2 << 20  # of a call to the store, as the sinks' default
CALL_TIMEOUT_S = 900.0
"""How long a call may be in flight with its retries; the store's own time-out of a call is shorter."""
ORPHANED_S = 7 * 24 * 3600.0
"""Staged files of writes that were killed are removed at this age; younger ones may belong to another write."""


@dataclass(frozen=True, slots=True)
class WritePlan:
    """
    One write, for its tasks and its commit.

    Attributes:
        time_ms: timestamp of all cells without a time of their own; the same in every attempt at a task.
        families: of the table.
        buckets: number of buckets of the table, from its record; None if it has none.
        compression: of staged files.
        folder: for staged files; "" where tasks write to the store.
    """

    table: SourceTable
    mapper: RowMapper
    time_ms: int
    families: frozenset[bytes]
    buckets: int | None
    compression: str = "none"
    folder: str = ""

    def prepared(self) -> bytes:
        """What tasks know about the store."""
        name = self.table.name
        rows = RowFormat(self.buckets)
        declared = {} if self.table.declared is None else {name: rows}
        formats = {name: FileFormat(self.compression, rows)}
        return Prepared(self.folder, {name: self.families}, formats, declared=declared).packed()


@dataclass(frozen=True, slots=True)
class Written(WriterCommitMessage):
    """
    What a task wrote.

    Attributes:
        folder: of the staged files; "" where the task wrote to the store.
        result: a packed `StoreResult`, also with the number of buckets of the staged rows.
    """

    folder: str
    result: bytes


Messages = Sequence[WriterCommitMessage | None]


class BatchWriter(DataSourceArrowWriter):
    """Writes a DataFrame. If the write fails, some of its rows may be stored."""

    def __init__(self, plan: WritePlan) -> None:
        self._plan = plan

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """Write the rows of a task."""
        return write_rows(self._plan, iterator)

    def commit(self, messages: Messages) -> None:
        """Apply the staged files."""
        commit(self._plan, messages)

    def abort(self, messages: Messages) -> None:
        """Remove the staged files."""
        _remove_staged(self._plan, messages)


class StreamWriter(DataSourceStreamArrowWriter):
    """Writes the micro-batches of a query; one that runs again writes the same cells."""

    def __init__(self, plan: WritePlan) -> None:
        self._plan = plan

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """Write the rows of a task."""
        return write_rows(self._plan, iterator)

    def commit(self, messages: Messages, batchId: int) -> None:  # noqa: N803, ARG002 - Spark's signature
        """Apply the staged files."""
        commit(self._plan, messages)

    def abort(self, messages: Messages, batchId: int) -> None:  # noqa: N803, ARG002 - as above
        """Remove the staged files."""
        _remove_staged(self._plan, messages)


def write_plan(table: SourceTable, mapper: RowMapper) -> WritePlan:
    """
    The plan of a write, beside the driver.

    Raises:
        NotFoundError: there is no such table.
        ConfigError: a declared column is in a family that the table lacks, or Spark cannot write this kind of store.
        ConflictError: another process writes a store that only one process may write, or the table has deferred updates
            or a feed, which only its pipeline writes.
        SchemaError: the table has another number of buckets than its declaration.
    """
    component = table.store()
    time_ms = now_ms() if mapper.time_ms is None else mapper.time_ms
    if not live_store(component).capabilities.written_by_driver:
        with table.reading() as store:
            families = store.families(table.name) or frozenset()
            buckets, compression, folder = _buckets(store, table.name), "none", ""
        if table.declared is not None and table.declared.buckets != buckets:
            raise BucketsDifferError(table.name, table.declared.buckets, buckets)
    else:
        with _owned(component) as store:
            if table.declared is not None:
                ensure_declared(store, table.declared)
            found = store.families(table.name)
            if found is None:
                raise missing_table(table.name, store.tables())
            families, buckets = found, _buckets(store, table.name)
            compression = store.file_compression(table.name) if isinstance(store, FileStore) else "none"
        folder = _staging_folder(component)
    missing = {column.column.partition(b":")[0] for column in mapper.columns} - families
    if missing:
        raise ConfigError(
            f'there is no family {shown(*sorted(missing))} in table "{table.name}"',
            hint="declare it under `tables` of a pipeline file, and run 'attr2hbase table apply'",
        )
    return WritePlan(table, mapper, time_ms, families, buckets, compression, folder)


def _buckets(store: Store[Any], table: str) -> int | None:
    properties = store.properties(table)
    for feature in table_features():
        if feature.has_owner and feature.name in properties:
            raise ConflictError(
                f'table "{table}" has {feature.words}, which only the pipeline that owns it writes',
                hint="send the rows through the pipeline's source, or use another table",
            )
    return RowFormat.recorded(store, table).buckets


def write_rows(plan: WritePlan, batches: Iterable[pa.RecordBatch]) -> Written:
    """
    Write the rows of one task; returns when they are durable or staged.

    Raises:
        MappingError: a row cannot be written; others may have been.
        StoreError: the store failed to write; Spark runs the task again.
        ConfigError: the task cannot reach the folder of the staged files.
    """
    component = plan.table.store()
    if plan.folder and not Path(plan.folder).is_dir():
        raise ConfigError(
            f'store "{component.name}" is embedded: only tasks on the machine of the driver can write it',
            hint="use a local master, or an hbase store",
        )
    table = plan.table.name
    # with a time of their own, rows of another write may have other values at the same time
    features = plan.table.loads() if plan.mapper.has_time_of_write else {}
    with closing(store_sink(component, buffer_bytes=CALL_BYTES, deletes=False, features=features)) as sink:
        sink.begin(_task_spec(plan), plan.prepared(), WriteCounts())
        for batch in batches:
            for put in plan.mapper.puts(batch, plan.time_ms):
                _check(put, plan)
                sink.add(table, put)
        result = sink.flush().payload
    refused = StoreResult.unpacked(result).refused
    if refused:
        (_, row), (_, reason) = next(iter(refused.items()))
        raise MappingError(
            f'store "{component.name}" refused {len(refused)} rows of table "{table}", first {shown(row)}: {reason}'
        )
    return Written(plan.folder, result)


def commit(plan: WritePlan, messages: Messages) -> None:
    """
    Apply the staged files of all tasks, and remove them; idempotent until they are removed.

    Raises:
        ConflictError: another process writes the store, or the number of buckets of the table changed since the tasks
            wrote; the plan may be newer than they are.
        StoreError: the store failed to write.
    """
    results = [StoreResult.unpacked(each.result) for each in messages if isinstance(each, Written)]
    staged = [result.staged for result in results if result.staged is not None]
    if staged:
        with _owned(plan.table.store()) as store:
            apply_staged(store, staged)
    _remove_staged(plan, messages)


def _remove_staged(plan: WritePlan, messages: Messages) -> None:
    """A streaming write plans its commit again, so the files may be in another folder than that of the plan."""
    folders = {plan.folder, *(each.folder for each in messages if isinstance(each, Written))} - {""}
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _owned(component: Component[StoreSettings]) -> Iterator[Store[Any]]:
    """A store that only one process may write, locked by this one."""
    store = live_store(component)
    try:
        store.open()
        yield store
    finally:
        store.close()


def _staging_folder(component: Component[StoreSettings]) -> str:
    """A new folder beside that of the store, so that files can be linked into it."""
    own = component.settings.own_folder
    if own is None:
        raise ConfigError(f'Spark cannot write the store "{component.name}": it is in the memory of one process')
    root = own.absolute().with_name(f"{own.name}.incoming")
    remove_leftovers(str(root), idle_s=ORPHANED_S)
    folder = root / uuid4().hex
    make_folder(folder)
    return str(folder)


def _task_spec(plan: WritePlan) -> TaskSpec:
    context = TaskContext.get()
    task = uuid4().hex if context is None else f"{context.partitionId():06d}-{context.taskAttemptId()}"
    return TaskSpec(Batch("spark", plan.time_ms, task), task_id=task, call_timeout_s=CALL_TIMEOUT_S)


def _check(put: Put, plan: WritePlan) -> None:
    """Refuse a row that the store would refuse: it does not see the rows of a staged file one by one."""
    reason = rejection_reason(put, plan.families)
    if reason is None and plan.buckets is not None and len(put.row) == MAX_ROW_KEY_BYTES:
        reason = f"the row key has {len(put.row)} bytes, and its bucket needs one more than is allowed"
    if reason is not None:
        raise MappingError(f'row {shown(put.row)} cannot be written to table "{plan.table.name}": {reason}')
