"""Checks the tables with bulk load."""

from typing import Any

from ingest.api import Finding
from ingest.api.declared_table import CheckedTable


def check_bulk_load(options: Any, table: CheckedTable) -> None:
    """Report a bulk load that the store of the table cannot do."""
    if options.rule() is None or table.store is None or table.store.bulk_load_refusal is None:
        return
    reason, remedy = table.store.bulk_load_refusal
    table.report(Finding(("bulk_load",), f'table "{table.name}" can have no bulk load: its store {reason}', remedy))
