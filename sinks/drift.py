"""How tables differ from what a file declares, and bringing them in line."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from ingest.api import FamilySpec, SchemaError, Store, TableSpec

Value = int | str | tuple[bytes, ...] | FamilySpec | TableSpec | None
"""One side of a difference: an option, splits, or a whole family or table; None where there is nothing."""


class Aspect(StrEnum):
    """What differs."""

    TABLE = "table"
    FAMILY = "family"
    VERSIONS = "versions"
    TTL = "ttl"
    COMPRESSION = "compression"
    BLOOM = "bloom"
    UNDECLARED = "undeclared"
    SPLITS = "splits"


class Remedy(StrEnum):
    """What it takes to bring a difference in line."""

    MAKE = "make"
    CHANGE = "change"
    DATA_LOSS = "data_loss"
    BY_HAND = "by_hand"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Difference:
    """
    One thing in which a table is not as declared.

    Attributes:
        family: None for what is about the table as a whole.
        declared: as the file has it; a time to live in seconds, None for ever.
        found: the same in the store.
    """

    table: str
    aspect: Aspect
    family: bytes | None
    declared: Value
    found: Value

    @property
    def is_drift(self) -> bool:
        """
        Whether it should go away.

        Families that are not declared may be there because events made them, and the regions of a table come and go
        after it was made: both are only worth knowing.
        """
        return self.aspect not in {Aspect.UNDECLARED, Aspect.SPLITS}

    @property
    def loses_data(self) -> bool:
        """Whether cells vanish with it: fewer versions are kept, or for a shorter time."""
        match self.aspect, self.declared, self.found:
            case Aspect.VERSIONS, int(declared), int(found):
                return declared < found
            case Aspect.TTL, int(declared), found:
                return found is None or (isinstance(found, int) and declared < found)
            case _:
                return False

    def remedy(self, store: Store[Any]) -> Remedy:
        """What it takes in this store."""
        if not self.is_drift:
            return Remedy.NOTHING
        needs_able_store = self.aspect is not Aspect.TABLE or (
            isinstance(self.declared, TableSpec) and bool(self.declared.splits)
        )
        if needs_able_store and not store.capabilities.creates_families:
            return Remedy.BY_HAND
        if self.aspect in {Aspect.TABLE, Aspect.FAMILY}:
            return Remedy.MAKE
        return Remedy.DATA_LOSS if self.loses_data else Remedy.CHANGE


@dataclass(frozen=True, slots=True)
class Alignment:
    """
    What became of a table that was to be brought in line.

    Attributes:
        done: differences that are gone, as the store was read back.
        left: drift that is still there.
        refused: what the store can not do itself, with the commands to type.
    """

    done: tuple[Difference, ...]
    left: tuple[Difference, ...]
    refused: tuple[SchemaError, ...]


def differences(declared: TableSpec, found: TableSpec | None) -> list[Difference]:
    """All in which a table is not as declared, in the order of the declaration."""
    if found is None:
        return [Difference(declared.name, Aspect.TABLE, None, declared, None)]
    existing = {family.name: family for family in found.families}
    result = []
    for family in declared.families:
        there = existing.pop(family.name, None)
        if there is None:
            result.append(Difference(declared.name, Aspect.FAMILY, family.name, family, None))
        else:
            result += _options(declared.name, family, there)
    result += [Difference(declared.name, Aspect.UNDECLARED, name, None, family) for name, family in existing.items()]
    if declared.splits and set(declared.splits) != set(found.splits):
        result.append(Difference(declared.name, Aspect.SPLITS, None, declared.splits, found.splits))
    return result


def align(store: Store[Any], declared: TableSpec, *, allow_data_loss: bool) -> Alignment:
    """
    Bring a table in line as far as the store can, then read it back.

    Nothing is ever taken away: no table, no family, and no cells unless that is allowed.

    Raises:
        StoreError: the store is not there, or does not do it now.
    """
    found = store.describe_table(declared.name)
    before = [one for one in differences(declared, found) if one.is_drift]
    if not before:
        return Alignment((), (), ())
    refused = []
    if any(difference.aspect in {Aspect.TABLE, Aspect.FAMILY} for difference in before):
        try:
            store.ensure_table(declared)
        except SchemaError as error:
            refused.append(error)
    existing = {} if found is None else {family.name: family for family in found.families}
    for family in declared.families:
        there = existing.get(family.name)
        wanted = family if there is None or allow_data_loss else _without_loss(family, there)
        if there is not None and wanted != there:
            try:
                store.change_family(declared.name, wanted)
            except SchemaError as error:
                refused.append(error)
    left = [one for one in differences(declared, store.describe_table(declared.name)) if one.is_drift]
    remaining = {(one.aspect, one.family) for one in left}
    done = [one for one in before if (one.aspect, one.family) not in remaining]
    return Alignment(tuple(done), tuple(left), tuple(refused))


def _options(table: str, declared: FamilySpec, found: FamilySpec) -> Iterator[Difference]:
    pairs: tuple[tuple[Aspect, Value, Value], ...] = (
        (Aspect.VERSIONS, declared.versions, found.versions),
        (Aspect.TTL, declared.ttl_s, found.ttl_s),
        (Aspect.COMPRESSION, declared.compression, found.compression),
        (Aspect.BLOOM, declared.bloom, found.bloom),
    )
    for aspect, wanted, there in pairs:
        if wanted != there:
            yield Difference(table, aspect, declared.name, wanted, there)


def _without_loss(declared: FamilySpec, found: FamilySpec) -> FamilySpec:
    """What is declared, but for what would make cells vanish."""
    lasts = None if declared.ttl_s is None or found.ttl_s is None else max(declared.ttl_s, found.ttl_s)
    return replace(declared, versions=max(declared.versions, found.versions), ttl_s=lasts)
