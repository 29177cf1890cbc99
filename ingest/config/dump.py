"""Checks the tables of `dump`."""

from ingest.config.components import Binding
from ingest.config.nodes import NodePath
from ingest.config.partial import PartialConfig
from ingest.config.problems import Kind, listed
from ingest.suggest import did_you_mean


def check_dump(partial_config: PartialConfig, binding: Binding) -> None:
    """Report unknown tables, tables that could be in several stores, and a dump without any table."""
    dump = partial_config.dump
    if dump is None:
        return
    written = {sink.settings.fixed_table for each in partial_config.pipelines.values() for sink in each.sinks}
    further = {name for table in partial_config.tables.values() for name in table.declared_tables()}
    known = sorted({*partial_config.table_names, *further, *(table for table in written if table)})
    uses: list[tuple[str, NodePath]] = [(table, ("tables", index)) for index, table in enumerate(dump.tables)]
    uses += [(table, ("columns", table)) for table in dump.columns]
    for table, path in uses:
        if table not in known:
            hint = did_you_mean(table, known) or (f"there are {listed(known)}" if known else "see `tables`")
            place = partial_config.dump_places.get(path, partial_config.dump_places[()])
            binding.problem(Kind.UNKNOWN_REFERENCE, place, f'there is no table "{table}"', hint)
    for index, table in enumerate(dump.tables):
        stores = _stores_of(partial_config, table)
        if len(stores) > 1:
            place = partial_config.dump_places.get(("tables", index), partial_config.dump_places[()])
            message = f'table "{table}" is written to several stores: {listed(stores)}'
            binding.problem(Kind.CONFLICT, place, message, f"declare its store: tables: {{{table}: {{store: NAME}}}}")
    if not dump.tables and not partial_config.table_names:
        place = partial_config.dump_places[()]
        binding.problem(Kind.MISSING_FIELD, place, 'dump needs "tables", because the file declares none')


def _stores_of(partial_config: PartialConfig, table: str) -> list[str]:
    """The stores to which sinks write a table that is not declared; a declared one has one store."""
    if table in partial_config.tables:
        return []
    sinks = (sink.settings for each in partial_config.pipelines.values() for sink in each.sinks)
    return sorted({sink.store_name for sink in sinks if sink.fixed_table == table and sink.store_name})
