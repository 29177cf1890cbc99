"""Checks tables with deferred updates, and their sinks."""

from ingest.api import Finding, OptionPath, Tombstones
from ingest.api.declared_table import CheckedFile, CheckedSink, CheckedTable
from sinks.updates.options import UpdatesOptions


def check_updates(updates: UpdatesOptions, table: CheckedTable, file: CheckedFile, value_type: str | None) -> None:
    """
    Report deferred updates that cannot be merged or compacted as declared, and sinks that cannot write them.

    An update that is lost, or deleted by another event, would change a sum without a trace; and only one pipeline can
    say up to where the updates of a table are complete.

    Args:
        updates: the option of the table.
        table: of the file.
        file: is checked.
        value_type: of the values that the processor writes; None if it has none, or is invalid.
    """
    _check_columns(updates, table, value_type)
    _check_compact(updates, table, file)
    for sink in table.sinks:
        _check_sink(sink, table.name)
        if (first := table.sinks[0].pipeline) != sink.pipeline:
            message = f'pipeline {first} already writes the updates of table "{table.name}", and only one pipeline may'
            sink.report(Finding(("table",), message, "use a table for each pipeline"))


def _check_columns(updates: UpdatesOptions, table: CheckedTable, value_type: str | None) -> None:
    """Report an empty list, and columns that are declared with another type than their processor writes."""
    if not updates.columns and "columns" in updates.model_fields_set:
        message = "no column is listed, so the processor merges all"
        table.report(Finding(("updates", "columns"), message, "leave `columns` out", "doubtful", is_error=False))
    for column, cell_type in table.options.columns.items():
        is_merged = not updates.columns or not {column, column.partition(":")[0]}.isdisjoint(updates.columns)
        if is_merged and value_type not in {None, cell_type}:
            message = f'"{column}" is {cell_type} here, and the processor of the table writes {value_type}'
            hint = "leave it out: columns that the processor merges have its type"
            table.report(Finding(("columns", column), message, hint))


def _check_compact(updates: UpdatesOptions, table: CheckedTable, file: CheckedFile) -> None:
    """A job on Spark leaves a task slot to the pipelines; an embedded store is compacted without Spark."""
    is_on_spark = table.store is not None and table.store.own_folder is None
    if updates.compact is not None and is_on_spark and file.local_slots == 1:
        message = f'table "{table.name}" is never compacted: Spark has one task slot, and that is left to the pipelines'
        hint = "give Spark more slots, as in spark: {master: local[2]}"
        table.report(Finding(("updates", "compact"), message, hint, "doubtful", is_error=False))


def _check_sink(sink: CheckedSink, table: str) -> None:
    settings = sink.settings

    def finding(path: OptionPath, what: str, hint: str) -> Finding:
        return Finding(path, f'table "{table}" has deferred updates, and {what}', hint)

    for path, durability in settings.named_durabilities():
        if durability.may_lose_rows:
            sink.report(finding(path, f"a crash of the store loses rows with `{durability}`", "leave it out"))
    for path, _ in settings.named_ttls():
        sink.report(finding(path, "a merged row has one time to live", "write `ttl` of the family under `tables`"))
    for path in settings.named_deletes():
        hint = "use 'attr2hbase rollback', or another table"
        sink.report(finding(path, "an event cannot delete updates", hint))
    if settings.has_event_time:
        sink.report(finding(("timestamp",), "an update has the batch time", "leave it out"))
    if sink.source is not None and sink.source.decoding.tombstones is Tombstones.DELETE:
        what = finding(("tombstones",), "an event cannot delete updates", "use `tombstones: drop`")
        sink.report_source(what)
