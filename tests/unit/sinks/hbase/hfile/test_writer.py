"""Files of HBase's format, read by a second implementation."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from ingest.api import MAX_ROW_KEY_BYTES, MAX_TIME_MS, Delete, Mutation, Put
from sinks.hbase.hfile.cells import FileCells
from sinks.hbase.hfile.codecs import Codec
from sinks.hbase.hfile.writer import HFileFormat
from sinks.hbase.protobuf import Message
from tests.support.hfile_reader import StoredCell, StoredFile, read_hfile

PUT, DELETE, DELETE_COLUMN, DELETE_FAMILY = 4, 8, 12, 14
FAMILIES = (b"a", b"fam")
COLUMNS = st.tuples(st.sampled_from(FAMILIES), st.binary(max_size=4)).map(b":".join)
TIMES = st.one_of(st.integers(0, 5), st.just(MAX_TIME_MS))
ROWS = st.one_of(st.binary(min_size=1, max_size=6), st.binary(min_size=100, max_size=200))
PUTS = st.builds(
    Put,
    row=ROWS,
    columns=st.dictionaries(COLUMNS, st.binary(max_size=200), min_size=1, max_size=5),
    timestamp_ms=TIMES,
)
DELETES = st.one_of(
    st.builds(Delete, row=ROWS, timestamp_ms=TIMES, family=st.sampled_from(FAMILIES)),
    st.builds(
        Delete,
        row=ROWS,
        timestamp_ms=TIMES,
        family=st.sampled_from(FAMILIES),
        qualifier=st.binary(max_size=4),
        exact=st.booleans(),
    ),
)
FORMS = st.builds(
    HFileFormat,
    codec=st.sampled_from(Codec),
    block_bytes=st.sampled_from([1, 200, 64 << 10]),
    has_bloom=st.booleans(),
    index_bytes=st.sampled_from([1, 400, 128 << 10]),
)


def files_of(mutations: Sequence[Mutation], form: HFileFormat) -> dict[bytes, StoredFile]:
    files = FileCells(10 << 20).files(list(mutations), dict.fromkeys(FAMILIES, form), 1234)
    return {family: read_hfile(b"".join(pieces)) for family, pieces in files.items()}


def cells_of(mutations: Sequence[Mutation]) -> list[StoredCell]:
    """The cells of mutations in HBase's order; of those with the same key the last one."""
    found: dict[tuple[bytes, bytes, bytes, int, int], bytes] = {}
    for one in mutations:
        if isinstance(one, Put):
            for column, value in one.columns.items():
                found[one.row, *_split(column), one.timestamp_ms, PUT] = value
        else:
            assert one.family is not None
            kind = DELETE_FAMILY if one.qualifier is None else DELETE if one.exact else DELETE_COLUMN
            found[one.row, one.family, one.qualifier or b"", one.timestamp_ms, kind] = b""
    cells = [StoredCell(*key, value) for key, value in found.items()]
    return sorted(cells, key=lambda cell: (*cell[:3], -cell.time_ms, -cell.kind))


def _split(column: bytes) -> tuple[bytes, bytes]:
    family, _, qualifier = column.partition(b":")
    return family, qualifier


@given(puts=st.lists(PUTS, min_size=1, max_size=12, unique_by=lambda put: put.row), form=FORMS)
def test_puts_of_different_rows_are_the_cells_of_their_families(puts: list[Put], form: HFileFormat):
    expected = cells_of(puts)
    found = files_of(puts, form)
    assert set(found) == {cell.family for cell in expected}
    for family, file in found.items():
        own = [cell for cell in expected if cell.family == family]
        assert file.cells == own
        assert int.from_bytes(file.info[b"EARLIEST_PUT_TS"], "big") == min(cell.time_ms for cell in own)


@given(mutations=st.lists(st.one_of(PUTS, DELETES), min_size=1, max_size=12), form=FORMS)
def test_any_mutations_are_the_cells_of_their_families(mutations: list[Mutation], form: HFileFormat):
    expected = cells_of(mutations)
    for family, file in files_of(mutations, form).items():
        own = [cell for cell in expected if cell.family == family]
        assert file.cells == own
        assert int.from_bytes(file.info[b"DELETE_FAMILY_COUNT"], "big") == sum(
            cell.kind == DELETE_FAMILY for cell in own
        )
        puts = [cell.time_ms for cell in own if cell.kind == PUT]
        earliest = file.info.get(b"EARLIEST_PUT_TS")
        assert (None if earliest is None else int.from_bytes(earliest, "big")) == min(puts, default=None)
        # as TimeRangeTracker of HBase: a marker of a column or family is for all times up to its own
        times = [0 if cell.kind in {DELETE_COLUMN, DELETE_FAMILY} else cell.time_ms for cell in own]
        found = Message(file.info[b"TIMERANGE"].removeprefix(b"PBUF"))
        assert (found.number(1), found.number(2)) == (min(times), max(cell.time_ms for cell in own))


@given(puts=st.lists(PUTS, min_size=1, max_size=12, unique_by=lambda put: put.row))
def test_bloom_filter_has_every_row_key(puts: list[Put]):
    for file in files_of(puts, HFileFormat()).values():
        assert all(file.may_have(cell.row) for cell in file.cells)
        assert file.info[b"BLOOM_FILTER_TYPE"] == b"ROW"


def test_bloom_filter_says_of_most_other_row_keys_that_the_file_lacks_them():
    puts = [Put(b"row %05d" % number, {b"a:q": b"v"}, 1) for number in range(0, 4000, 2)]
    file = files_of(puts, HFileFormat())[b"a"]
    assert sum(file.may_have(b"row %05d" % number) for number in range(1, 4000, 2)) < 60
    (_, bits), *others = file.bloom
    assert (len(bits), others) == (4096, [])  # for 3418 keys; the next smaller one has room for 1709


def test_bloom_filter_of_many_rows_has_several_chunks():
    rows = 110_000
    puts = [Put(number.to_bytes(3, "big"), {b"a:": b""}, 1) for number in range(rows)]
    file = files_of(puts, HFileFormat())[b"a"]
    assert [first for first, _ in file.bloom] == [bytes(3), (109_306).to_bytes(3, "big")]
    assert all(file.may_have(number.to_bytes(3, "big")) for number in (0, 109_305, 109_306, rows - 1))
    assert not file.may_have(rows.to_bytes(3, "big"))


def test_large_index_has_leaf_blocks_and_the_key_in_the_middle():
    puts = [Put(b"row %04d" % number, {b"a:q": b"v"}, 1) for number in range(1000)]
    file = files_of(puts, HFileFormat(block_bytes=1, index_bytes=1000))[b"a"]
    assert (file.levels, file.data_blocks, len(file.indexed_keys)) == (2, 1000, 1000)
    assert file.middle_key == file.indexed_keys[499]


def test_a_row_that_is_larger_than_a_block_has_one_of_its_own():
    puts = [Put(b"%d" % number, {b"a:q": b"v" * (200_000 * (number == 1))}, 1) for number in range(3)]
    file = files_of(puts, HFileFormat(Codec.SNAPPY))[b"a"]
    assert file.data_blocks == 2
    assert [len(cell.value) for cell in file.cells] == [0, 200_000, 0]


def test_file_says_what_hbase_needs_to_open_it():
    puts = [Put(b"r1", {b"a:q": b"value"}, 7), Put(b"r2", {b"a:q": b""}, 9)]
    info = files_of(puts, HFileFormat(has_bloom=False))[b"a"].info
    key = b"\x00\x02r2\x01aq" + (9).to_bytes(8, "big") + b"\x04"
    assert info[b"hfile.LASTKEY"] == key
    assert info[b"TIMERANGE"] == b"PBUF\x08\x07\x10\x09"
    assert info[b"BULKLOAD_TIMESTAMP"] == (1234).to_bytes(8, "big")
    assert info[b"BULKLOAD_SOURCE_TASK"], "else HBase keeps all MOB files of the table"
    assert info[b"hfile.AVG_KEY_LEN"] == len(key).to_bytes(4, "big")
    assert info[b"hfile.AVG_VALUE_LEN"] == (2).to_bytes(4, "big")
    assert b"BLOOM_FILTER_TYPE" not in info


def test_the_longest_row_key_is_written():
    row = b"r" * MAX_ROW_KEY_BYTES
    file = files_of([Put(row, {b"a:q": b"v"}, 1)], HFileFormat())[b"a"]
    assert [cell.row for cell in file.cells] == [row]
