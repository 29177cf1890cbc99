"""Events of one sink on their way into its store: mapped, checked against what is there, and handed on."""

from collections.abc import Iterable
from typing import Any

from ingest.api import Delete, Event, MappingError, Mutation, NoTableError, Put
from ingest.api.notation import shown
from sinks.mapping.mapper import Mapper, OnUnknown, Skipped
from sinks.writing.mutator import UNKNOWN_FAMILY, BufferedMutator


class Writer:
    """
    One sink: an event becomes mutations that its store can take, or is refused or passed over as a whole.

    Called by one thread, within a round of the mutator.

    Args:
        mapper: event to mutations.
        mutator: the way into the sink's store, which other sinks may share.
    """

    def __init__(self, mapper: Mapper[Any], mutator: BufferedMutator) -> None:
        self._map = mapper.map
        self._mutator = mutator
        self._families = mutator.families
        self._good = mutator.families.good
        self._own = mapper.settings.own_families
        self._is_one_table = mapper.settings.fixed_table is not None
        wanted = mapper.settings.families.on_unknown or OnUnknown.CREATE
        # nobody could make what is asked for, and the batch would run again for ever
        can_not = wanted is OnUnknown.CREATE and not mutator.capabilities.creates_families
        self._on_unknown = OnUnknown.ERROR if can_not else wanted

    def write(self, event: Event) -> str | None:
        """
        Take an event on its way to the store.

        Returns:
            None when it was taken, else the reason it becomes nothing, on purpose.

        Raises:
            MappingError: the event can not be written by this sink.
            StoreError: the store does not take what was sent before; the round is over.
        """
        mutator = self._mutator
        mapped = self._map(event, mutator.batch_time_ms)
        if type(mapped) is Skipped:
            return mapped.reason
        for table, mutation in mapped:
            good = self._good.get(table)
            if type(mutation) is not Put or good is None or not mutation.columns.keys() <= good:
                reason = self._admit(table, mutation)
                if reason is not None:
                    return reason
        if self._families.needed:
            return None
        if len(mapped) == 1:
            mutator.mutate(table, mutation)
            return None
        if not mapped:
            raise TypeError(f"map returned {mapped!r}; to drop an event, return Skipped(reason)")
        for table, mutation in mutator.refused_first(mapped):
            mutator.mutate(table, mutation)
        return None

    def _admit(self, table: str, mutation: Mutation) -> str | None:
        """Check the families of a mutation that was not seen before; the reason when the event becomes nothing."""
        families = _families_in(mutation)
        known = self._mutator.families.of(table, families)
        if known is None and not self._mutator.capabilities.creates_tables:
            message = f'there is no table "{table}" in store "{self._mutator.store_name}"'
            if self._is_one_table:
                raise NoTableError(message)
            # the event names it, and one event must not hold up all others
            raise MappingError(message, code="unknown_table", hint="make the table, then replay the dead letter")
        missing = families - (known or frozenset())
        if missing and isinstance(mutation, Delete) and self._on_unknown is OnUnknown.CREATE:
            return UNKNOWN_FAMILY  # a delete makes no family: where there is none, there is nothing to delete
        if missing or known is None:
            return self._unknown(table, missing)
        if isinstance(mutation, Put):
            self._mutator.families.remember(table, mutation)
        return None

    def _unknown(self, table: str, missing: set[bytes]) -> str | None:
        # where the limit is reached, the families that the sink itself names are made still: they count against none
        wanted = missing & self._own if self._mutator.families.is_at_limit(table) else missing
        if not missing or (wanted and self._on_unknown is OnUnknown.CREATE):
            self._mutator.families.need(table, wanted)
            return None
        if self._on_unknown is OnUnknown.DROP:
            return UNKNOWN_FAMILY
        if self._on_unknown is OnUnknown.CREATE:
            hint = (
                "the limit of families made by events is reached: raise `families: max_created`, or add it to `tables`"
            )
        else:
            hint = (
                "add it under `tables` and run 'ingest table apply', or say `families: {on_unknown: drop}`; "
                "an hbase store makes families of events once it has `thrift2`"
            )
            if self._mutator.capabilities.creates_families:
                hint = "add it under `tables`, or say `families: {on_unknown: create}`"
        raise MappingError(f'no {_named(missing)} in table "{table}"', code=UNKNOWN_FAMILY, hint=hint)


def _families_in(mutation: Mutation) -> set[bytes]:
    """The families that a mutation names; none for the delete of a row."""
    if isinstance(mutation, Put):
        return {column.partition(b":")[0] for column in mutation.columns}
    return set() if mutation.family is None else {mutation.family}


def _named(families: Iterable[bytes]) -> str:
    """For messages: `family "a"`, `families "a", "b"`."""
    names = sorted(families)
    return f"{'family' if len(names) == 1 else 'families'} {shown(*names)}"
