"""Differences between tables and declarations, and their reconciliation."""

from collections.abc import Mapping

import pytest

from ingest.api import Capabilities, FamilySpec, Put, SchemaError, TableSpec
from sinks.memory import MemoryStore
from sinks.schema_diff import (
    Aspect,
    Attributes,
    Difference,
    Remedy,
    SchemaChanges,
    differences,
    differences_in,
    reconcile,
)

DAY_S = 86_400
PLAIN = FamilySpec(b"f")


class WithoutAlter(MemoryStore):
    """As HBase without Thrift2: it creates tables, but cannot alter them."""

    def __init__(self) -> None:
        super().__init__()
        self.capabilities = Capabilities(written_by_driver=False, creates_families=False, creates_tables=False)

    def ensure_table(self, spec: TableSpec) -> None:
        existing = self.families(spec.name)
        if spec.splits or (existing is not None and not {family.name for family in spec.families} <= existing):
            raise SchemaError("cannot", command=f"create {spec.name}")
        super().ensure_table(spec)

    def change_family(self, table: str, family: FamilySpec) -> None:
        raise SchemaError("cannot", command=f"alter {table} {family.name.decode()}")


@pytest.fixture(params=[MemoryStore, WithoutAlter])
def store(request: pytest.FixtureRequest) -> MemoryStore:
    made = request.param()
    made.open()
    return made


@pytest.mark.parametrize(
    ("aspect", "declared", "found", "loses"),
    [
        (Aspect.VERSIONS, 1, 3, True),
        (Aspect.VERSIONS, 3, 1, False),
        (Aspect.TTL, DAY_S, None, True),
        (Aspect.TTL, DAY_S, 2 * DAY_S, True),
        (Aspect.TTL, 2 * DAY_S, DAY_S, False),
        (Aspect.TTL, None, DAY_S, False),
        (Aspect.COMPRESSION, "none", "gz", False),
        (Aspect.UNDECLARED, None, PLAIN, False),
    ],
    ids=str,
)
def test_differences_whose_reconciliation_deletes_cells(aspect: Aspect, declared: object, found: object, loses: bool):
    assert Difference("t", aspect, b"f", declared, found).loses_data is loses


def test_table_as_declared_has_no_differences():
    spec = TableSpec("t", (PLAIN, FamilySpec(b"g", versions=3)), (b"m",))
    assert differences(spec, TableSpec("t", spec.families[::-1], spec.splits)) == []
    # split points are compared only if some are declared
    assert differences(TableSpec("t", (PLAIN,)), TableSpec("t", (PLAIN,), (b"m",))) == []


def test_table_without_drift_is_not_written():
    class ReadOnly(MemoryStore):
        def ensure_table(self, spec: TableSpec) -> None:
            raise AssertionError

        def describe_table(self, name: str) -> TableSpec:
            return TableSpec(name, (PLAIN, FamilySpec(b"undeclared")), (b"q",))

    store = ReadOnly()
    store.open()
    assert reconcile(store, TableSpec("t", (PLAIN,), (b"m",)), allow_data_loss=True) == SchemaChanges((), (), ())


def test_updates_are_recorded_before_the_table_has_rows_and_never_after(store: MemoryStore):
    plain, sums = TableSpec("t", (PLAIN,)), TableSpec("t", (PLAIN,), updates='{"processor": "sum"}')
    assert [one.aspect for one in reconcile(store, sums, allow_data_loss=False).done] == [Aspect.TABLE]
    assert differences_in(store, sums) == []
    assert [one.remedy(store) for one in differences_in(store, plain)] == [Remedy.EMPTY_ONLY]
    assert [one.aspect for one in reconcile(store, plain, allow_data_loss=False).done] == [Aspect.UPDATES]
    reconcile(store, sums, allow_data_loss=False)
    store.apply("t", [Put(b"a", {b"f:q": b"1"}, 1)])
    changes = reconcile(store, plain, allow_data_loss=True)
    assert [one.remedy(store) for one in changes.left] == [Remedy.NEW_TABLE]
    assert [(error.code, error.exit_code) for error in changes.refused] == [("updates_differ", 4)]


def test_remedies_depend_on_the_store(store: MemoryStore):
    is_able = store.capabilities.creates_families
    declared = TableSpec("t", (FamilySpec(b"f", versions=2, ttl_s=60), FamilySpec(b"g")))
    found = TableSpec("t", (PLAIN,))
    remedies = [one.remedy(store) for one in differences(declared, found)]
    # also where a command changes it: one that deletes cells is shown only with the consent
    able, by_hand = (Remedy.CHANGE, Remedy.MAKE), (Remedy.BY_HAND, Remedy.BY_HAND)
    change, make = able if is_able else by_hand
    assert remedies == [change, Remedy.DATA_LOSS, make]
    for splits, remedy in (((), Remedy.MAKE), ((b"m",), Remedy.MAKE if is_able else Remedy.BY_HAND)):
        (missing,) = differences(TableSpec("t", (PLAIN,), splits), None)
        assert missing.remedy(store) is remedy


def test_impossible_changes_are_returned_with_commands():
    store = WithoutAlter()
    store.open()
    assert reconcile(store, TableSpec("t", (PLAIN,)), allow_data_loss=False).refused == ()
    declared = TableSpec("t", (FamilySpec(b"f", versions=2), FamilySpec(b"g")))
    result = reconcile(store, declared, allow_data_loss=False)
    assert [error.command for error in result.refused] == ["create t", "alter t f"]
    assert [one.aspect for one in result.left] == [Aspect.VERSIONS, Aspect.FAMILY]
    assert result.done == ()


def test_a_command_that_deletes_cells_is_returned_only_if_allowed():
    store = WithoutAlter()
    store.open()
    reconcile(store, TableSpec("t", (PLAIN,)), allow_data_loss=False)
    declared = TableSpec("t", (FamilySpec(b"f", ttl_s=DAY_S),))
    for is_allowed, commands in ((False, []), (True, ["alter t f"])):
        result = reconcile(store, declared, allow_data_loss=is_allowed)
        assert [error.command for error in result.refused] == commands
        assert [(one.aspect, one.remedy(store)) for one in result.left] == [(Aspect.TTL, Remedy.DATA_LOSS)]


def test_cells_are_deleted_only_if_allowed():
    store = MemoryStore()
    store.open()
    store.ensure_table(TableSpec("t", (FamilySpec(b"f", versions=3, ttl_s=2 * DAY_S, bloom="none"),)))
    declared = TableSpec("t", (FamilySpec(b"f", versions=1, ttl_s=DAY_S),))
    result = reconcile(store, declared, allow_data_loss=False)
    assert ([one.aspect for one in result.done], [one.aspect for one in result.left]) == (
        [Aspect.BLOOM],
        [Aspect.VERSIONS, Aspect.TTL],
    )
    assert store.describe_table("t") == TableSpec("t", (FamilySpec(b"f", versions=3, ttl_s=2 * DAY_S),))
    reconcile(store, declared, allow_data_loss=True)
    assert store.describe_table("t") == declared


def test_number_of_buckets_is_changed_only_while_the_table_is_empty():
    store = MemoryStore()
    store.open()
    declared = TableSpec("t", (PLAIN,), buckets=16)
    store.ensure_table(TableSpec("t", (PLAIN,)))
    (difference,) = differences(declared, store.describe_table("t"))
    assert (difference.aspect, difference.is_drift, difference.remedy(store)) == (
        Aspect.DISTRIBUTE,
        True,
        Remedy.EMPTY_ONLY,
    )
    assert reconcile(store, declared, allow_data_loss=False).done == (difference,)
    store.apply("t", [Put(b"\x00r", {b"f:q": b"v"}, 1)])
    result = reconcile(store, TableSpec("t", (PLAIN,), buckets=8), allow_data_loss=True)
    assert [one.aspect for one in result.left] == [Aspect.DISTRIBUTE]
    assert [error.exit_code for error in result.refused] == [4]


class WithAttributes(MemoryStore):
    """As HBase: families have attributes, with defaults."""

    def __init__(self) -> None:
        super().__init__()
        self.set: dict[bytes, dict[str, str]] = {}

    def family_attributes(self, table: str) -> dict[bytes, dict[str, str]]:
        known = self.families(table) or ()
        return {family: {"IN_MEMORY": "false", "MIN_VERSIONS": "2"} | self.set.get(family, {}) for family in known}

    def set_family_attributes(self, table: str, family: bytes, attributes: Mapping[str, str]) -> None:
        if "x" in attributes.values():
            raise SchemaError("no such value")
        self.set.setdefault(family, {}).update(attributes)


def with_attributes(*attributes: tuple[str, str]) -> TableSpec:
    return TableSpec("t", (PLAIN,), attributes=tuple((b"f", *each) for each in attributes))


def test_attributes_that_differ_are_set():
    store = WithAttributes()
    store.open()
    store.ensure_table(TableSpec("t", (PLAIN,)))
    declared = with_attributes(("IN_MEMORY", "FALSE"), ("REPLICATION_SCOPE", "1"), ("STORAGE_POLICY", "HOT"))
    (found,) = differences_in(store, declared)
    assert (str(found.declared), str(found.found)) == (
        "REPLICATION_SCOPE 1, STORAGE_POLICY HOT",
        "REPLICATION_SCOPE unset, STORAGE_POLICY unset",
    )
    assert (found.aspect, found.family, found.remedy(store)) == (Aspect.ATTRIBUTES, b"f", Remedy.CHANGE)
    assert reconcile(store, declared, allow_data_loss=False) == SchemaChanges((found,), (), ())
    assert store.set == {b"f": {"REPLICATION_SCOPE": "1", "STORAGE_POLICY": "HOT"}}


def test_attributes_of_a_new_table_and_refused_values():
    store = WithAttributes()
    store.open()
    changes = reconcile(store, with_attributes(("IN_MEMORY", "x")), allow_data_loss=False)
    assert [one.aspect for one in changes.left] == [Aspect.ATTRIBUTES]
    assert [error.message for error in changes.refused] == ["no such value"]
    assert reconcile(store, with_attributes(("IN_MEMORY", "true")), allow_data_loss=False).left == ()


def test_attribute_that_deletes_cells_needs_the_consent():
    store = WithAttributes()
    store.open()
    store.ensure_table(TableSpec("t", (PLAIN,)))
    declared = with_attributes(("MIN_VERSIONS", "1"), ("IN_MEMORY", "true"))
    changes = reconcile(store, declared, allow_data_loss=False)
    assert [(str(one.declared), one.remedy(store)) for one in changes.left] == [("MIN_VERSIONS 1", Remedy.DATA_LOSS)]
    assert store.set == {b"f": {"IN_MEMORY": "true"}}
    assert reconcile(store, declared, allow_data_loss=True).left == ()


@pytest.mark.parametrize(
    ("declared", "found", "loses"),
    [
        (("KEEP_DELETED_CELLS", "FALSE"), ("KEEP_DELETED_CELLS", "TRUE"), True),
        (("KEEP_DELETED_CELLS", "false"), ("KEEP_DELETED_CELLS", "TTL"), True),
        (("KEEP_DELETED_CELLS", "TRUE"), ("KEEP_DELETED_CELLS", "FALSE"), False),
        (("MIN_VERSIONS", "0"), ("MIN_VERSIONS", "1"), True),
        (("MIN_VERSIONS", "1"), ("MIN_VERSIONS", "unset"), False),
        (("BLOCKSIZE", "1"), ("BLOCKSIZE", "65536"), False),
    ],
)
def test_attributes_whose_change_deletes_cells(declared: tuple[str, str], found: tuple[str, str], loses: bool):
    assert Difference("t", Aspect.ATTRIBUTES, b"f", Attributes((declared,)), Attributes((found,))).loses_data is loses


def test_store_without_attributes_has_no_such_difference(store: MemoryStore):
    store.ensure_table(TableSpec("t", (PLAIN,)))
    assert differences_in(store, with_attributes(("IN_MEMORY", "true"))) == []
    with pytest.raises(SchemaError, match='has no attributes of families, such as IN_MEMORY of "f" in "t"'):
        store.set_family_attributes("t", b"f", {"IN_MEMORY": "true"})
