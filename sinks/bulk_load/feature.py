"""Bulk load as a feature of a table; planning imports no writer, so that `explain` and `test` start faster."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from ingest.api import Store
from ingest.api.bulk_load import BulkLoading
from ingest.api.declared_table import CheckedFile, CheckedTable, DeclaredTable, Locator
from ingest.api.table_feature import TableFeature
from sinks.bulk_load.checks import check_bulk_load
from sinks.bulk_load.modes import BEHIND, NAME, ONLY_CALLS, ONLY_CHECKED, UP_TO_DATE, LoadRule
from sinks.bulk_load.options import BulkLoadOptions


class BulkLoad(TableFeature[Any]):
    """
    Rows of regions with many rows are loaded as files; a chunk is durable when its files are loaded.

    It is below all writers, and around the store itself, so every order of writes of the other features stays.
    """

    name = NAME
    text = (
        "Bulk load: while the pipeline is behind, rows go to HBase as files in place of calls, with HBase's native RPC "
        "alone. `never`, `auto`, or `{from: ROWS}`."
    )
    example = MappingProxyType({"from": "auto"})
    options_model = BulkLoadOptions
    has_large_chunks = True

    def check(self, options: Any, table: CheckedTable, file: CheckedFile) -> None:  # noqa: ARG002
        """Report a bulk load that the store of the table cannot do."""
        check_bulk_load(options, table)

    def check_store(self, store: Store[Any], table: DeclaredTable) -> str:
        """Check that files can be staged and loaded."""
        rule = self.planned(table)
        if rule is None or not isinstance(store, BulkLoading):
            return ""
        store.check_loading(table.name, confirmed=rule.confirmed)
        return "files for bulk load of {tables} can be staged and loads begun"

    def planned(self, table: DeclaredTable, locator: Locator | None = None) -> LoadRule | None:  # noqa: ARG002
        """When rows are loaded as files."""
        options = self.options_of(table)
        rule: LoadRule | None = None if options is None else options.rule()
        return rule

    def connection(self, target: Any, planned: Mapping[str, LoadRule], staging: Any) -> Any:  # noqa: ARG002
        """Loads files in place of calls."""
        from sinks.bulk_load.loading import BulkLoadingStore

        return BulkLoadingStore(target, planned)

    def message(self, planned: LoadRule, *, is_behind: bool, is_replay: bool, is_again: bool) -> bytes | None:
        """Whether the pipeline is behind, if the table has files only then; or that cells are written again."""
        has_files = is_behind or not planned.only_behind
        if is_replay or (is_again and not has_files):
            return ONLY_CALLS
        if is_again:
            return ONLY_CHECKED
        return (BEHIND if is_behind else UP_TO_DATE) if planned.only_behind else None
