"""Partitions and batches of the data source, without a session."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.serializers import CPickleSerializer
from pyspark.sql.datasource import EqualTo, GreaterThan

from ingest.api import ConfigError, DecodeError, FamilySpec, NotFoundError, Put, TableSpec
from ingest.formats.cell_types import INT32
from ingest.spark.datasource.source import TableDataSource
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from sinks.rowkeys.distribution import Distribution
from sinks.rowkeys.mutations import with_physical_keys

SERIALIZER = CPickleSerializer()
ROWS = 300
TABLES: dict[str, int | None] = {"plain": None, "salted": 4}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("store") / "data"
    store = RocksDBStore(RocksDBSettings(path=str(folder)))
    store.open()
    for table, buckets in TABLES.items():
        store.ensure_table(TableSpec(table, (FamilySpec(b"m", versions=2),), buckets=buckets))
        puts = [
            Put(_key(number), {b"m:n": INT32.pack(number), b"m:t": b"t", b"m:j": b'{"a": 1}'}, 1_000)
            for number in range(ROWS)
        ]
        puts.append(Put(_key(0), {b"m:t": b"new"}, 2_000))
        store.apply(table, puts if buckets is None else with_physical_keys(puts, Distribution(buckets).physical))
    store.close()
    return folder


def _key(number: int) -> bytes:
    return b"k%03d" % number


def reader_of(folder: Path, table: str, options: Mapping[str, str] = {}) -> Any:
    source = TableDataSource({"store": "rocksdb", "path": str(folder), "Table": table, **options})
    return source.reader(source.schema())


def sent(value: Any) -> Any:
    """The value as another process gets it."""
    return SERIALIZER.loads(SERIALIZER.dumps(value))


def rows_of(reader: Any) -> list[list[tuple[Any, ...]]]:
    """The rows of each partition, which are read in a process of their own."""
    found = []
    for partition in sent(reader.partitions()):
        batches = sent(reader).read(partition)
        found.append([tuple(row.values()) for batch in batches for row in batch.to_pylist()])
    return found


def keys_of(partitions: Sequence[Sequence[tuple[Any, ...]]]) -> list[bytes]:
    return sorted(row[0] for partition in partitions for row in partition)


@pytest.mark.parametrize("table", TABLES)
def test_all_cells_of_a_row_are_a_map(folder: Path, table: str):
    rows = {row[0]: dict(row[1]) for part in rows_of(reader_of(folder, table)) for row in part}
    assert rows.keys() == {_key(number) for number in range(ROWS)}
    assert rows[_key(0)] == {"m:j": b'{"a": 1}', "m:n": INT32.pack(0), "m:t": b"new"}


@pytest.mark.parametrize("table", TABLES)
def test_declared_columns_have_their_types(folder: Path, table: str):
    columns = "row as id utf8, m:n as n int32, m:t, m:j as j json, m:none"
    rows = rows_of(reader_of(folder, table, {"columns": columns, "start": "k007", "stop": "k008"}))
    assert [row for part in rows for row in part] == [("k007", 7, "t", '{"a": 1}', None)]


@pytest.mark.parametrize("table", TABLES)
def test_column_of_an_unknown_family_is_refused(folder: Path, table: str):
    reader = reader_of(folder, table, {"columns": "row utf8, n:n int64"})
    with pytest.raises(NotFoundError, match='there is no family "n" in table') as raised:
        reader.partitions()
    assert raised.value.hint == "there is m"


def test_versions_have_their_times(folder: Path):
    rows = rows_of(reader_of(folder, "salted", {"versions": "2", "stop": "k001", "prefix": "k"}))
    ((_, cells),) = [row for part in rows for row in part]
    assert [(cell["column"], cell["timestamp"], cell["value"]) for cell in cells][-2:] == [
        ("m:t", 2_000, b"new"),
        ("m:t", 1_000, b"t"),
    ]


def test_a_bucket_is_a_partition(folder: Path):
    partitions = rows_of(reader_of(folder, "salted"))
    assert len(partitions) == 4
    assert all(partitions)
    assert len(rows_of(reader_of(folder, "plain"))) == 1


@pytest.mark.parametrize("table", TABLES)
def test_more_partitions_have_the_same_rows(folder: Path, table: str):
    partitions = rows_of(reader_of(folder, table, {"minpartitions": "6"}))
    assert len(partitions) >= 6
    assert keys_of(partitions) == [_key(number) for number in range(ROWS)]
    assert sum(map(bool, partitions)) > len(TABLES)


@pytest.mark.parametrize("table", TABLES)
def test_patterns_apply_to_logical_keys(folder: Path, table: str):
    options = {"fuzzy": "k??7,k1?8", "prefix": "k1"}
    found = keys_of(rows_of(reader_of(folder, table, options)))
    assert found == [_key(number) for number in range(100, 200) if number % 10 in {7, 8}]


@pytest.mark.parametrize("table", TABLES)
def test_filters_on_the_row_key_narrow_the_range(folder: Path, table: str):
    reader = reader_of(folder, table, {"push_filters": "true", "columns": "m:n as n int32"})
    condition = GreaterThan(("n",), 5)
    assert list(reader.pushFilters([EqualTo(("row",), b"k009"), condition])) == [condition]
    partitions = rows_of(reader)
    assert partitions == [[(b"k009", 9)]]


def test_a_get_obeys_patterns(folder: Path):
    reader = reader_of(folder, "salted", {"push_filters": "true", "fuzzy": "k0"})
    list(reader.pushFilters([EqualTo(("row",), b"k100")]))
    assert rows_of(reader) == [[]]


@pytest.mark.parametrize("table", TABLES)
def test_time_range_selects_cells(folder: Path, table: str):
    later = rows_of(reader_of(folder, table, {"start_time": "1001", "minpartitions": "6"}))
    assert [row for part in later for row in part] == [(_key(0), [("m:t", b"new")])]
    columns = {"columns": "m:n as n int32, m:t", "stop": "k003"}
    earlier = rows_of(reader_of(folder, table, columns | {"end_time": "1970-01-01T00:00:02Z"}))
    assert sorted(row for part in earlier for row in part) == [(_key(number), number, "t") for number in range(3)]
    assert keys_of(rows_of(reader_of(folder, table, {"start_time": "1001", "end_time": "2000"}))) == []


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(("key", "found"), [(b"k000", [[(b"k000", None, "new")]]), (b"k001", [[]])])
def test_a_get_obeys_the_time_range(folder: Path, table: str, key: bytes, found: list[list[tuple[Any, ...]]]):
    options = {"push_filters": "true", "columns": "m:n as n int32, m:t", "start_time": "1001"}
    reader = reader_of(folder, table, options)
    list(reader.pushFilters([EqualTo(("row",), key)]))
    assert rows_of(reader) == found


@pytest.mark.parametrize("table", TABLES)
def test_an_empty_range_is_one_empty_partition(folder: Path, table: str):
    assert rows_of(reader_of(folder, table, {"start": "b", "stop": "a"})) == [[]]
    assert rows_of(reader_of(folder, "plain", {"start": "x", "minpartitions": "4"})) == [[]]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("m:t int32", 'row "k000": "m:t" cannot be read as int32: "new" has 3 bytes, not 4'),
        ("m:t json", 'row "k000": "m:t" cannot be read as json'),
    ],
)
def test_a_value_of_another_type_names_row_and_column(folder: Path, columns: str, message: str):
    with pytest.raises(DecodeError) as raised:
        rows_of(reader_of(folder, "plain", {"columns": columns}))
    assert message in str(raised.value)


def test_a_missing_table_is_named(folder: Path):
    with pytest.raises(NotFoundError, match='there is no table "plan"; did you mean "plain"'):
        reader_of(folder, "plan").partitions()


def test_another_schema_is_refused(folder: Path):
    source = TableDataSource({"store": "rocksdb", "path": str(folder), "table": "plain"})
    other = TableDataSource({"store": "rocksdb", "path": str(folder), "table": "plain", "columns": "m:t"})
    with pytest.raises(ConfigError, match=r"leave \.schema"):
        source.reader(other.schema())
