"""What differs, what that means, and bringing it in line."""

import pytest

from ingest.api import Capabilities, FamilySpec, SchemaError, TableSpec
from sinks.memory import MemoryStore
from sinks.schema_diff import Aspect, Difference, Remedy, SchemaChanges, differences, reconcile

DAY_S = 86_400
PLAIN = FamilySpec(b"f")


class Unable(MemoryStore):
    """As HBase without Thrift2: it makes tables, and changes none."""

    def __init__(self) -> None:
        super().__init__()
        self.capabilities = Capabilities(written_by_driver=False, creates_families=False, creates_tables=False)

    def ensure_table(self, spec: TableSpec) -> None:
        there = self.families(spec.name)
        if spec.splits or (there is not None and not {family.name for family in spec.families} <= there):
            raise SchemaError("cannot", command=f"create {spec.name}")
        super().ensure_table(spec)

    def change_family(self, table: str, family: FamilySpec) -> None:
        raise SchemaError("cannot", command=f"alter {table} {family.name.decode()}")


@pytest.fixture(params=[MemoryStore, Unable])
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
def test_what_deletes_cells(aspect: Aspect, declared: object, found: object, loses: bool):
    assert Difference("t", aspect, b"f", declared, found).loses_data is loses


def test_table_as_declared_differs_in_nothing():
    spec = TableSpec("t", (PLAIN, FamilySpec(b"g", versions=3)), (b"m",))
    assert differences(spec, TableSpec("t", spec.families[::-1], spec.splits)) == []
    # none is declared: the regions are nobody's business
    assert differences(TableSpec("t", (PLAIN,)), TableSpec("t", (PLAIN,), (b"m",))) == []


def test_nothing_to_do_writes_nothing():
    class Shy(MemoryStore):
        def ensure_table(self, spec: TableSpec) -> None:
            raise AssertionError

        def describe_table(self, name: str) -> TableSpec:
            return TableSpec(name, (PLAIN, FamilySpec(b"events_made_it")), (b"q",))

    assert reconcile(Shy(), TableSpec("t", (PLAIN,), (b"m",)), allow_data_loss=True) == SchemaChanges((), (), ())


def test_remedies_are_those_of_the_store(store: MemoryStore):
    is_able = store.capabilities.creates_families
    declared = TableSpec("t", (FamilySpec(b"f", versions=2, ttl_s=60), FamilySpec(b"g")))
    found = TableSpec("t", (PLAIN,))
    remedies = [one.remedy(store) for one in differences(declared, found)]
    able = [Remedy.CHANGE, Remedy.DATA_LOSS, Remedy.MAKE]
    assert remedies == (able if is_able else [Remedy.BY_HAND] * 3)
    for splits, remedy in (((), Remedy.MAKE), ((b"m",), Remedy.MAKE if is_able else Remedy.BY_HAND)):
        (missing,) = differences(TableSpec("t", (PLAIN,), splits), None)
        assert missing.remedy(store) is remedy


def test_what_a_store_can_not_do_is_left_with_its_commands():
    store = Unable()
    store.open()
    assert reconcile(store, TableSpec("t", (PLAIN,)), allow_data_loss=False).refused == ()
    declared = TableSpec("t", (FamilySpec(b"f", versions=2), FamilySpec(b"g")))
    result = reconcile(store, declared, allow_data_loss=False)
    assert [error.command for error in result.refused] == ["create t", "alter t f"]
    assert [one.aspect for one in result.left] == [Aspect.VERSIONS, Aspect.FAMILY]
    assert result.done == ()


def test_cells_stay_unless_their_loss_is_allowed():
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
