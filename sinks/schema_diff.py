"""Differences between tables and their declarations, and how to reconcile them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from ingest.api import FamilySpec, SchemaError, Store, TableSpec
from sinks.rowkeys.row_format import RowFormat
from sinks.scanning.stored_rows import check_plain_rows, check_stored_rows, has_rows, misplaced_row
from sinks.table_records import ensure_declared


@dataclass(frozen=True, slots=True)
class Attributes:
    """Attributes of a family by HBase's names."""

    values: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in self.values)


Value = int | str | bytes | tuple[bytes, ...] | FamilySpec | TableSpec | Attributes | None
"""One side of a difference: an option, a row key, split points, or a whole family or table; None if absent."""


_UNSET = "unset"


class Aspect(StrEnum):
    """What differs."""

    TABLE = "table"
    FAMILY = "family"
    VERSIONS = "versions"
    TTL = "ttl"
    COMPRESSION = "compression"
    BLOOM = "bloom"
    ATTRIBUTES = "attributes"
    UNDECLARED = "undeclared"
    SPLITS = "splits"
    DISTRIBUTE = "distribute"
    UPDATES = "updates"
    MISPLACED = "misplaced"


class Remedy(StrEnum):
    """How a difference can be reconciled."""

    MAKE = "make"
    CHANGE = "change"
    DATA_LOSS = "data_loss"
    EMPTY_ONLY = "empty_only"
    BY_HAND = "by_hand"
    NEW_TABLE = "new_table"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Difference:
    """
    One difference between a table and its declaration.

    Attributes:
        family: None for a difference of the table as a whole.
        declared: as in the file; a time to live in seconds, None for ever.
        found: the same in the store; the physical key of a misplaced row.
    """

    table: str
    aspect: Aspect
    family: bytes | None
    declared: Value
    found: Value

    @property
    def is_drift(self) -> bool:
        """
        Whether it should be reconciled.

        Events may create families that are not declared, and regions split and merge after a table is created: both
        differences are only reported.
        """
        return self.aspect not in {Aspect.UNDECLARED, Aspect.SPLITS}

    @property
    def loses_data(self) -> bool:
        """Whether reconciling it deletes cells: fewer versions are kept, or cells expire earlier."""
        match self.aspect, self.declared, self.found:
            case Aspect.VERSIONS, int(declared), int(found):
                return declared < found
            case Aspect.TTL, int(declared), found:
                return found is None or (isinstance(found, int) and declared < found)
            case Aspect.ATTRIBUTES, Attributes(declared), Attributes(found):
                return any(map(_deletes_cells, declared, found))
            case _:
                return False

    def remedy(self, store: Store[Any]) -> Remedy:
        """How it can be reconciled in this store, which is open."""
        if not self.is_drift:
            return Remedy.NOTHING
        if self.aspect in {Aspect.DISTRIBUTE, Aspect.UPDATES, Aspect.MISPLACED}:
            is_empty = self.aspect is not Aspect.MISPLACED and not has_rows(store, self.table)
            return Remedy.EMPTY_ONLY if is_empty else Remedy.NEW_TABLE
        if self.loses_data:
            return Remedy.DATA_LOSS  # also by hand: a command is shown only with the consent
        needs_alter = self.aspect is not Aspect.TABLE or (
            isinstance(self.declared, TableSpec) and bool(self.declared.splits)
        )
        if needs_alter and not store.capabilities.creates_families:
            return Remedy.BY_HAND
        if self.aspect in {Aspect.TABLE, Aspect.FAMILY}:
            return Remedy.MAKE
        return Remedy.CHANGE


@dataclass(frozen=True, slots=True)
class SchemaChanges:
    """
    The result of reconciling a table.

    Attributes:
        done: differences that are gone, as read back from the store.
        left: differences that are still there.
        refused: changes that the store cannot make, with the commands for its shell.
    """

    done: tuple[Difference, ...]
    left: tuple[Difference, ...]
    refused: tuple[SchemaError, ...]


def differences(declared: TableSpec, found: TableSpec | None) -> list[Difference]:
    """All differences of a table from its declaration, in the order of the declaration."""
    if found is None:
        return [Difference(declared.name, Aspect.TABLE, None, declared, None)]
    existing = {family.name: family for family in found.families}
    result = []
    for family in declared.families:
        current = existing.pop(family.name, None)
        if current is None:
            result.append(Difference(declared.name, Aspect.FAMILY, family.name, family, None))
        else:
            result += _options(declared.name, family, current)
    result += [Difference(declared.name, Aspect.UNDECLARED, name, None, family) for name, family in existing.items()]
    if declared.buckets != found.buckets:
        result.append(Difference(declared.name, Aspect.DISTRIBUTE, None, declared.buckets, found.buckets))
    if declared.splits and set(declared.splits) != set(found.splits):
        result.append(Difference(declared.name, Aspect.SPLITS, None, declared.splits, found.splits))
    return result


def differences_in(store: Store[Any], declared: TableSpec) -> list[Difference]:
    """
    All differences of a table in a store from its declaration; a misplaced row too, if a sample of the rows has one.

    Args:
        store: open, for reading or writing.
        declared: the table's declaration.

    Raises:
        StoreError: the store is unavailable, or refuses to read the table.
    """
    found = store.describe_table(declared.name)
    result = differences(declared, found)
    updates = RowFormat.recorded(store, declared.name).updates
    if found is not None and declared.updates != updates:
        result.append(Difference(declared.name, Aspect.UPDATES, None, declared.updates or None, updates or None))
    if found is not None:
        result += _of_attributes(store, declared)
    is_salted = found is not None and declared.buckets is not None and found.buckets == declared.buckets
    if is_salted and declared.updates == updates and declared.buckets is not None:
        row = misplaced_row(store, declared.name, declared.buckets)
        if row is not None:
            result.append(Difference(declared.name, Aspect.MISPLACED, None, declared.buckets, row))
    return result


def reconcile(store: Store[Any], declared: TableSpec, *, allow_data_loss: bool, adopt: bool = False) -> SchemaChanges:
    """
    Reconcile a table as far as the store can, then read it back.

    No table or family is ever deleted; cells only with `allow_data_loss`.

    Args:
        store: open for writing.
        declared: the table's declaration.
        allow_data_loss: also make changes that delete cells.
        adopt: record the declared buckets of a table that has rows and no record of buckets, if a sample of the rows is
            stored in them; or remove the record of a table that is declared without buckets, if the rows are stored as
            they are.

    Raises:
        StoreError: the store is unavailable, or refuses the change.
    """
    found = store.describe_table(declared.name)
    before = [one for one in differences_in(store, declared) if one.is_drift]
    if not before:
        return SchemaChanges((), (), ())
    refused = []
    if adopt and found is not None:
        try:
            _adopt(store, declared, found.buckets)
        except SchemaError as error:
            return SchemaChanges((), tuple(before), (error,))
    if any(one.aspect in {Aspect.TABLE, Aspect.FAMILY, Aspect.DISTRIBUTE, Aspect.UPDATES} for one in before):
        try:
            ensure_declared(store, declared)
        except SchemaError as error:
            refused.append(error)
    existing = {} if found is None else {family.name: family for family in found.families}
    for family in declared.families:
        current = existing.get(family.name)
        wanted = family if current is None or allow_data_loss else _without_loss(family, current)
        if current is not None and wanted != current:
            try:
                store.change_family(declared.name, wanted)
            except SchemaError as error:
                refused.append(error)
    refused += _set_attributes(store, declared, allow_data_loss=allow_data_loss)
    left = [one for one in differences_in(store, declared) if one.is_drift]
    remaining = {(one.aspect, one.family) for one in left}
    done = [one for one in before if (one.aspect, one.family) not in remaining]
    return SchemaChanges(tuple(done), tuple(left), tuple(refused))


def _of_attributes(store: Store[Any], declared: TableSpec) -> Iterator[Difference]:
    """The attributes of families that differ; none in a store that does not say them."""
    found = store.family_attributes(declared.name) if declared.attributes else None
    for family in () if found is None else declared.families:
        if found is None or family.name not in found:
            continue  # it is missing as a whole
        current = found[family.name]
        differing = [
            (name, value)
            for name, value in declared.attributes_of(family.name).items()
            if current.get(name, "").upper() != value.upper()
        ]
        if differing:
            before = tuple((name, current.get(name, _UNSET)) for name, _ in differing)
            wanted = Attributes(tuple(differing))
            yield Difference(declared.name, Aspect.ATTRIBUTES, family.name, wanted, Attributes(before))


def _set_attributes(store: Store[Any], declared: TableSpec, *, allow_data_loss: bool) -> list[SchemaError]:
    """Set those attributes that differ; those that delete cells only with the consent. Returns what is refused."""
    refused = []
    for one in list(_of_attributes(store, declared)):
        assert isinstance(one.declared, Attributes) and isinstance(one.found, Attributes)  # noqa: S101, PT018 - by origin
        pairs = zip(one.declared.values, one.found.values, strict=True)
        wanted = dict(new for new, old in pairs if allow_data_loss or not _deletes_cells(new, old))
        if wanted and one.family is not None:
            try:
                store.set_family_attributes(declared.name, one.family, wanted)
            except SchemaError as error:
                refused.append(error)
    return refused


def _deletes_cells(declared: tuple[str, str], found: tuple[str, str]) -> bool:
    """Whether a value of an attribute lets a compaction delete cells that the former one has kept."""
    name, value = declared
    match name:
        case "KEEP_DELETED_CELLS":
            order = ("FALSE", "TTL", "TRUE")
            known = [each.upper() for each in (value, found[1])]
            return all(each in order for each in known) and order.index(known[0]) < order.index(known[1])
        case "MIN_VERSIONS":
            return value.isdecimal() and found[1].isdecimal() and int(value) < int(found[1])
    return False


def _adopt(store: Store[Any], declared: TableSpec, recorded: int | None) -> None:
    """Let the record of an existing table follow its declaration, if its rows do; other buckets stay recorded."""
    if declared.buckets is not None and recorded is None:
        check_stored_rows(store, declared)
    elif declared.buckets is None and recorded is not None:
        check_plain_rows(store, declared.name, recorded)
    else:
        return
    store.record_buckets(declared.name, declared.buckets)


def _options(table: str, declared: FamilySpec, found: FamilySpec) -> Iterator[Difference]:
    pairs: tuple[tuple[Aspect, Value, Value], ...] = (
        (Aspect.VERSIONS, declared.versions, found.versions),
        (Aspect.TTL, declared.ttl_s, found.ttl_s),
        (Aspect.COMPRESSION, declared.compression, found.compression),
        (Aspect.BLOOM, declared.bloom, found.bloom),
    )
    for aspect, wanted, current in pairs:
        if wanted != current:
            yield Difference(table, aspect, declared.name, wanted, current)


def _without_loss(declared: FamilySpec, found: FamilySpec) -> FamilySpec:
    """The declared family, without the options that would delete cells."""
    ttl_s = None if declared.ttl_s is None or found.ttl_s is None else max(declared.ttl_s, found.ttl_s)
    return replace(declared, versions=max(declared.versions, found.versions), ttl_s=ttl_s)
