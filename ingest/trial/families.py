"""What a store says of families, as far as the file tells."""

from collections.abc import Iterable, Mapping
from typing import Self

from ingest.api import MappingError, Mutation, Put
from ingest.api.notation import name_to_bytes, shown
from ingest.build import SinkPart, StorePart
from ingest.config.model import Table
from sinks.mapping.mapper import OnUnknown, Skipped

_CODE = "unknown_family"


class DeclaredFamilies:
    """
    The families of the tables that a sink may write, for a sink that makes none: a family that the file does not
    declare is refused or passed over, as the store will do with one its table does not have.

    Tables that the file does not declare are taken to have every family.

    Args:
        on_unknown: what the sink does; nothing is looked at where it makes families.
        tables: name -> families.
    """

    def __init__(self, on_unknown: OnUnknown, tables: Mapping[str, frozenset[bytes]]) -> None:
        self._on_unknown = on_unknown
        self._tables = {} if on_unknown is OnUnknown.CREATE else tables

    @classmethod
    def of(cls, sink: SinkPart, store: StorePart, tables: Iterable[Table]) -> Self:
        """Those of a sink of a plan."""
        wanted = sink.settings.families.on_unknown
        if wanted is None:
            wanted = OnUnknown.CREATE if store.settings.why_no_families is None else OnUnknown.ERROR
        named = (table for table in tables if table.store == store.name)
        return cls(wanted, {table.name: frozenset(map(name_to_bytes, table.options.families)) for table in named})

    def check(self, table: str, mutation: Mutation) -> Skipped | None:
        """
        The reason when the sink passes the event over.

        Raises:
            MappingError: the sink refuses it.
        """
        known = self._tables.get(table)
        missing = set() if known is None else _families_in(mutation) - known
        if not missing:
            return None
        if self._on_unknown is OnUnknown.DROP:
            return Skipped(_CODE)
        raise MappingError(
            f'table "{table}" is declared without {shown(*sorted(missing))}, and the sink makes no families',
            code=_CODE,
            hint="declare it under `tables`; a table that has it all the same takes the event",
        )


def _families_in(mutation: Mutation) -> set[bytes]:
    if isinstance(mutation, Put):
        return {column.partition(b":")[0] for column in mutation.columns}
    return set() if mutation.family is None else {mutation.family}
