"""Maps the events of one sink and checks their families before they are written to its store."""

from collections.abc import Iterable
from typing import Any

from ingest.api import Delete, Event, MappingError, Mutation, NoTableError, Put
from ingest.api.cells import families_in
from ingest.api.notation import shown
from ingest.api.store_errors import UnknownFamilyError
from sinks.folding.sizes import size_of
from sinks.mapping.mapper import Mapper, OnUnknown, Skipped
from sinks.writing.store_sink import StoreSink


class UnknownTableError(MappingError):
    """The event's table does not exist, and the store does not create tables."""

    code = "unknown_table"
    hint = "create the table, then replay the dead letter"


class Writer:
    """
    Writes the events of one sink: all mutations of an event, or none if it fails or is dropped.

    Called by one thread, within a flush cycle of the store's task sink.

    Args:
        mapper: event -> mutations.
        store: of the sink; other sinks may share it.
    """

    def __init__(self, mapper: Mapper[Any], store: StoreSink) -> None:
        self._map = mapper.map
        self._store = store
        self._families = store.families
        self._valid_columns = store.families.valid_columns
        self._own = mapper.settings.own_families
        self._is_one_table = mapper.settings.fixed_table is not None
        wanted = mapper.settings.families.on_unknown or OnUnknown.CREATE
        # the batch would run again for ever if a family can never be created
        is_impossible = wanted is OnUnknown.CREATE and not store.capabilities.creates_families
        self._on_unknown = OnUnknown.ERROR if is_impossible else wanted

    def write(self, event: Event) -> str | None:
        """
        Write an event.

        Returns:
            None, or the reason why the event is dropped on purpose.

        Raises:
            MappingError: this sink cannot write the event.
            StoreError: the store failed to write earlier mutations; the flush cycle is over.
        """
        store = self._store
        mapped = self._map(event, store.batch_time_ms)
        if type(mapped) is Skipped:
            return mapped.reason
        for table, mutation in mapped:
            valid = self._valid_columns.get(table)
            if type(mutation) is not Put or valid is None or not valid.issuperset(mutation.columns):
                reason = self._check_families(table, mutation)
                if reason is not None:
                    return reason
        if event.origin.fan_out:
            store.record_bytes.add(event.origin, sum(size_of(mutation) for _, mutation in mapped))
        if self._families.needed:
            return None
        if len(mapped) == 1:
            store.add(table, mutation)
            return None
        if not mapped:
            raise TypeError(f"map returned {mapped!r}; to drop an event, return Skipped(reason)")
        try:
            for table, mutation in store.in_order(mapped):
                store.add(table, mutation)
        except MappingError:
            store.withdraw(mapped)
            raise
        return None

    def _check_families(self, table: str, mutation: Mutation) -> str | None:
        """Check the families of a mutation; returns the reason if the event is dropped."""
        if isinstance(mutation, Delete) and not self._store.deletes:
            raise TypeError("the mapper returned a delete, but this sink was built for puts only")
        families = families_in(mutation)
        known = self._store.families.of(table, families)
        if known is None and not self._store.capabilities.creates_tables:
            message = f'there is no table "{table}" in store "{self._store.store_name}"'
            if self._is_one_table:
                raise NoTableError(message)
            # the event names the table, and one event must not block all others
            raise UnknownTableError(message)
        missing = families - (known or frozenset())
        if missing and isinstance(mutation, Delete) and self._on_unknown is OnUnknown.CREATE:
            return UnknownFamilyError.code  # nothing to delete, and a delete creates no family
        if missing or known is None:
            return self._on_missing(table, missing)
        if isinstance(mutation, Put):
            self._store.families.add_valid(table, mutation)
        return None

    def _on_missing(self, table: str, missing: set[bytes]) -> str | None:
        # families that the sink itself names do not count towards the limit
        wanted = missing & self._own if self._store.families.is_at_limit(table) else missing
        if not missing or (wanted and self._on_unknown is OnUnknown.CREATE):
            self._store.families.need(table, wanted)
            return None
        if self._on_unknown is OnUnknown.DROP:
            return UnknownFamilyError.code
        if self._on_unknown is OnUnknown.CREATE:
            hint = "the limit of created families is reached: raise `families: max_created`, or add it to `tables`"
        else:
            hint = (
                "add it under `tables` and run 'attr2hbase table apply', or say `families: {on_unknown: drop}`; "
                "an hbase store can create it if it has `thrift2` or `bootstrap_servers`"
            )
            if self._store.capabilities.creates_families:
                hint = "add it under `tables`, or say `families: {on_unknown: create}`"
        raise MappingError(f'no {_named(missing)} in table "{table}"', code=UnknownFamilyError.code, hint=hint)


def _named(families: Iterable[bytes]) -> str:
    """For messages: `family "a"`, `families "a", "b"`."""
    names = sorted(families)
    return f"{'family' if len(names) == 1 else 'families'} {shown(*names)}"
