"""The check that the rows of a table are stored in the declared buckets."""

import hashlib

import pytest

from ingest.api import FamilySpec, Put, SchemaError, TableSpec
from sinks.memory import MemoryStore
from sinks.rowkeys.distribution import Distribution
from sinks.scanning.stored_rows import SAMPLED_ROWS, check_plain_rows, check_stored_rows
from sinks.schema_diff import Aspect, reconcile

FAMILIES = (FamilySpec(b"f"),)
KEYS = [b"row-%04d" % number for number in range(2_000)]


def table(rows) -> MemoryStore:
    store = MemoryStore()
    store.open()
    store.ensure_table(TableSpec("t", FAMILIES))
    store.apply("t", [Put(row, {b"f:q": b"v"}, 1) for row in rows])
    return store


def written(buckets: int) -> list[bytes]:
    return [Distribution(buckets).physical(key) for key in KEYS]


@pytest.mark.parametrize("buckets", [1, 2, 16, 255, 256])
def test_rows_of_the_declared_buckets_pass(buckets: int):
    check_stored_rows(table(written(buckets)), TableSpec("t", FAMILIES, buckets=buckets))
    check_stored_rows(table([]), TableSpec("t", FAMILIES, buckets=buckets))


@pytest.mark.parametrize(("of_rows", "declared"), [(16, 8), (8, 16), (16, 15), (2, 256), (256, 2), (16, 1)])
def test_rows_of_other_buckets_are_refused(of_rows: int, declared: int):
    with pytest.raises(SchemaError, match=f"hash: {declared}") as refused:
        check_stored_rows(table(written(of_rows)), TableSpec("t", FAMILIES, buckets=declared))
    assert refused.value.code == "not_distributed"


@pytest.mark.parametrize("key", [b"\x10", b"\x10row", b"\xff", b"plain", b"\x0f\xff\xff", b"\x00\x00"])
def test_one_row_at_the_edge_of_a_bucket_is_refused(key: bytes):
    assert Distribution(16).physical(key[1:]) != key
    with pytest.raises(SchemaError, match="has the row key"):
        check_stored_rows(table([*written(16), key]), TableSpec("t", FAMILIES, buckets=16))


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        (
            b"monday",
            '"monday": with `distribute: {hash: 16}`, its first byte "m" is no bucket, so the rows are not salted',
        ),
        (b"\x0frow-0001", 'its first byte "\\x0f" is not "\\x0b", the bucket of the rest of the key'),
    ],
)
def test_message_says_why_a_row_is_not_in_its_bucket(key: bytes, reason: str):
    with pytest.raises(SchemaError) as refused:
        check_stored_rows(table([key]), TableSpec("t", FAMILIES, buckets=16))
    assert reason in refused.value.message


def test_rows_of_a_round_robin_distributor_are_refused():
    rows = [bytes([number % 12]) + key for number, key in enumerate(KEYS)]
    with pytest.raises(SchemaError):
        check_stored_rows(table(rows), TableSpec("t", FAMILIES, buckets=12))


def test_number_of_rows_read_is_bounded():
    class Counting(MemoryStore):
        rows = 0

        def scan(self, *args):
            for row in super().scan(*args):
                self.rows += 1
                yield row

    store = Counting()
    store.open()
    store.ensure_table(TableSpec("t", FAMILIES))
    store.apply("t", [Put(row, {b"f:q": b"v"}, 1) for row in written(2)])
    check_stored_rows(store, TableSpec("t", FAMILIES, buckets=2))
    assert store.rows == 2 * 2 * SAMPLED_ROWS


def test_adopted_table_has_the_declared_record_and_its_rows():
    store = table(written(16))
    declared = TableSpec("t", FAMILIES, buckets=16)
    assert [error.code for error in reconcile(store, declared, allow_data_loss=True).refused] == ["buckets_differ"]
    changes = reconcile(store, declared, allow_data_loss=False, adopt=True)
    assert ([one.aspect for one in changes.done], changes.left) == ([Aspect.DISTRIBUTE], ())
    assert store.buckets("t") == 16
    other = reconcile(store, TableSpec("t", FAMILIES, buckets=8), allow_data_loss=False, adopt=True)
    assert [error.code for error in other.refused] == ["buckets_differ"]


def test_nothing_is_changed_if_the_rows_are_refused():
    store = table([*written(16), b"plain"])
    declared = TableSpec("t", (FamilySpec(b"f", versions=3), FamilySpec(b"g")), buckets=16)
    changes = reconcile(store, declared, allow_data_loss=False, adopt=True)
    assert (changes.done, [error.code for error in changes.refused]) == ((), ["not_distributed"])
    assert store.describe_table("t") == TableSpec("t", FAMILIES)


BINARY = [hashlib.sha256(key).digest()[:8] for key in KEYS]


@pytest.mark.parametrize("buckets", [2, 16, 255, 256])
@pytest.mark.parametrize("keys", [KEYS, BINARY, []], ids=["text", "binary", "none"])
def test_rows_that_are_stored_as_they_are_pass_as_plain(keys: list[bytes], buckets: int):
    check_plain_rows(table(keys), "t", buckets)


@pytest.mark.parametrize("others", [[], KEYS], ids=["alone", "beside plain rows"])
@pytest.mark.parametrize("buckets", [1, 2, 16, 255])
def test_rows_in_buckets_are_not_plain(buckets: int, others: list[bytes]):
    with pytest.raises(SchemaError, match=f"hash: {buckets}") as refused:
        check_plain_rows(table([*written(buckets), *others]), "t", buckets)
    assert refused.value.code == "distributed"


def test_record_of_a_table_that_became_plain_is_removed():
    store = MemoryStore()
    store.open()
    store.ensure_table(TableSpec("t", FAMILIES, buckets=16))  # the record stayed when the table was dropped
    store.apply("t", [Put(key, {b"f:q": b"v"}, 1) for key in KEYS])
    declared = TableSpec("t", FAMILIES)
    refused = reconcile(store, declared, allow_data_loss=False)
    assert [one.aspect for one in refused.left] == [Aspect.DISTRIBUTE]
    assert "--adopt TABLE', which removes the record" in str(refused.refused[0])
    changes = reconcile(store, declared, allow_data_loss=False, adopt=True)
    assert ([one.aspect for one in changes.done], changes.left, store.buckets("t")) == ([Aspect.DISTRIBUTE], (), None)


def test_record_of_a_table_with_rows_in_buckets_stays():
    store = table(written(16))
    store.record_buckets("t", 16)
    changes = reconcile(store, TableSpec("t", FAMILIES), allow_data_loss=False, adopt=True)
    assert [error.code for error in changes.refused] == ["distributed"]
    assert (changes.done, store.buckets("t")) == ((), 16)
