"""Checks the tables with bulk load."""

from typing import Any

from ingest.api import Finding
from ingest.api.declared_table import CheckedTable


def check_bulk_load(options: Any, table: CheckedTable) -> None:
    """Report a bulk load that the store of the table cannot do, and sinks whose rows can have none."""
    if options.rule() is None:
        return
    for sinks, is_named in ((table.sinks, ""), (table.other_sinks, ", which events of this sink may name,")):
        for sink in sinks:
            if sink.settings.has_event_time:
                message = (
                    f'table "{table.name}"{is_named} has bulk load, and of two values of a cell with one event time a '
                    "file may show the earlier one"
                )
                sink.report(Finding(("timestamp",), message, "leave `timestamp: event` or the table's `bulk_load` out"))
    for sink in table.sinks:
        for path, _ in sink.settings.named_ttls():
            message = f'table "{table.name}" has bulk load, and rows with a time to live are written in calls'
            sink.report(Finding(path, message, "write `ttl` of the family", "doubtful", is_error=False))
    if table.store is None or table.store.bulk_load_refusal is None:
        return
    reason, remedy = table.store.bulk_load_refusal
    message = f'table "{table.name}" can have no bulk load: its {table.store_kind} store {reason}'
    table.report(Finding(("bulk_load",), message, remedy))
