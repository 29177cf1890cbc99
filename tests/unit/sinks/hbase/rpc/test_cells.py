"""Blocks of cells."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import MAX_FAMILY_BYTES, MAX_ROW_KEY_BYTES, MAX_TIME_MS, Cell, Delete, Put
from sinks.hbase import assembling
from sinks.hbase.protobuf import WireError
from sinks.hbase.refusals import RefusalError
from sinks.hbase.rpc import cells
from sinks.hbase.rpc.cells import CellEncoder, cell_count, decoded, row_of

FAMILIES = st.binary(min_size=1, max_size=4).map(lambda name: name.replace(b":", b"_"))
COLUMNS = st.tuples(FAMILIES, st.binary(max_size=6)).map(b":".join)
PUTS = st.builds(
    Put,
    row=st.binary(min_size=1, max_size=40),
    columns=st.dictionaries(COLUMNS, st.binary(max_size=300), min_size=1, max_size=70),
    timestamp_ms=st.integers(0, MAX_TIME_MS),
)


def encoder(max_cell_bytes: int = 10 << 20) -> CellEncoder:
    return CellEncoder(max_cell_bytes)


def test_cell_has_the_bytes_of_key_value():
    """As `new KeyValue("row", "cf", "q", 1, Put, "value").getBuffer()`, after its length."""
    key = b"\x00\x03row\x02cfq" + b"\x00\x00\x00\x00\x00\x00\x00\x01" + b"\x04"
    cell = struct.pack(">II", len(key), 5) + key + b"value"
    assert encoder().put(Put(b"row", {b"cf:q": b"value"}, 1)) == struct.pack(">I", len(cell)) + cell


@given(puts=st.lists(PUTS, max_size=5))
def test_cells_of_puts_are_read_as_they_were_written(puts):
    made = encoder()
    block = b"".join(made.put(put) for put in puts)
    expected = [
        (put.row, Cell(*column.split(b":", 1), put.timestamp_ms, value))
        for put in puts
        for column, value in put.columns.items()
    ]
    assert list(decoded(block)) == expected
    assert sum(map(cell_count, puts)) == len(expected)


def heads_of(made: CellEncoder) -> int:
    """How many heads the functions of an encoder's shapes look up."""
    contents = [cell.cell_contents for assemble in made._shapes.values() for cell in assemble.__closure__ or ()]
    return sum({id(each): len(each) for each in contents if isinstance(each, dict)}.values())


def test_what_is_kept_for_a_shape_is_bounded(monkeypatch):
    monkeypatch.setattr(assembling, "_MAX_HEADS", 10)
    monkeypatch.setattr(cells, "MAX_SHAPES", 4)
    made, other = encoder(), encoder()
    for size in range(100):
        put = Put(b"row", {b"f:a": b"v" * size, b"f:b": b"v"}, 1)
        assert made.put(put) == other.put(put)
        assert heads_of(made) == made._heads.kept <= 10
    for number in range(10):
        made.put(Put(b"row", {b"f:%d" % number: b"v"}, 1))
        assert len(made._shapes) <= 4
    assert made._heads.kept <= 4


def test_new_shape_has_room_once_too_much_is_kept_for_the_others(monkeypatch):
    monkeypatch.setattr(assembling, "_MAX_HEADS", 3)
    made = encoder()
    for size in range(5):
        made.put(Put(b"row", {b"f:a": b"v" * size}, 1))
    assert (heads_of(made), made._heads.kept, len(made._shapes)) == (3, 3, 1)
    made.put(Put(b"row", {b"f:b": b"v"}, 1))
    assert (heads_of(made), made._heads.kept, len(made._shapes)) == (1, 1, 1)


@pytest.mark.parametrize(
    ("delete", "kind", "family", "qualifier"),
    [
        (Delete(b"r", 7, b"f"), 14, b"f", b""),
        (Delete(b"r", 7, b"f", b"q"), 12, b"f", b"q"),
        (Delete(b"r", 7, b"f", b""), 12, b"f", b""),
        (Delete(b"r", 7, b"f", b"q", exact=True), 8, b"f", b"q"),
    ],
)
def test_cells_of_deletes(delete, kind, family, qualifier):
    block = encoder().delete(delete)
    assert list(decoded(block)) == [(b"r", Cell(family, qualifier, 7, b""))]
    assert (block[-1], cell_count(delete)) == (kind, 1)


def test_delete_of_a_row_has_no_cell():
    assert (encoder().delete(Delete(b"r", 7)), cell_count(Delete(b"r", 7))) == (b"", 0)


@pytest.mark.parametrize(
    "mutation",
    [
        Put(b"", {b"f:q": b""}, 1),
        Put(b"r" * (MAX_ROW_KEY_BYTES + 1), {b"f:q": b""}, 1),
        Put(b"r", {b"f:q": b""}, -1),
        Put(b"r", {b"f:q": b""}, MAX_TIME_MS + 1),
        Put(b"r", {}, 1),
        Put(b"r", {b"f": b""}, 1),
        Put(b"r", {b":q": b""}, 1),
        Put(b"r", {b"f" * (MAX_FAMILY_BYTES + 1) + b":q": b""}, 1),
        Delete(b"", 1),
        Delete(b"r", -1),
        Delete(b"r", 1, b""),
        Delete(b"r", 1, b"a:b"),
    ],
)
def test_mutation_that_hbase_rejects_is_refused(mutation):
    made = encoder()
    for _ in range(2):
        with pytest.raises(RefusalError):
            made.put(mutation) if isinstance(mutation, Put) else made.delete(mutation)
    assert made.put(Put(b"r", {b"f:q": b"1"}, 1))


def test_size_of_a_cell_is_counted_as_hbase_does():
    made = encoder(1000)
    fits = Put(b"row", {b"f:q": b"x" * (1000 - 24 - 5)}, 1)
    assert len(made.put(fits)) == 1000
    with pytest.raises(RefusalError, match="cell too large: 1001 bytes"):
        made.put(Put(b"row", {b"f:q": b"x" * (1000 - 24 - 4)}, 1))


def test_cell_with_tags_is_read():
    block = encoder().put(Put(b"r", {b"f:q": b"v"}, 1))
    tagged = struct.pack(">I", len(block) - 4 + 5) + block[4:] + b"\x00\x03abc"
    assert [cell.value for _, cell in decoded(tagged + block)] == [b"v", b"v"]


@pytest.mark.parametrize("name", ["end", "value", "row"])
def test_cell_whose_lengths_do_not_fit_is_an_error(name: str):
    """Another cell follows, so no slice is short."""
    block = encoder().put(Put(b"r", {b"f:q": b"v"}, 1))
    size, key_bytes, value_bytes, row_bytes = struct.unpack_from(">IIIH", block)
    lengths = {
        "end": (size + 2 * len(block), key_bytes, value_bytes, row_bytes),
        "value": (size, key_bytes, value_bytes + 1, row_bytes),
        "row": (size, key_bytes, value_bytes, 60_000),
    }
    damaged = struct.pack(">IIIH", *lengths[name]) + block[14:]
    with pytest.raises(WireError, match=f"a cell of {lengths[name][0]} bytes at byte 0 of {2 * len(block)}"):
        list(decoded(damaged + block))


@pytest.mark.parametrize("length", range(1, 15))
@pytest.mark.parametrize("before", [b"", encoder().put(Put(b"r", {b"f:q": b"v"}, 1))], ids=["first", "second"])
def test_cell_that_ends_within_its_lengths_is_an_error(before: bytes, length: int):
    problem = "a block of cells ends" if length < 14 else "a cell of 0 bytes"  # 14: the lengths are complete
    with pytest.raises(WireError, match=f"{problem} at byte {len(before)}"):
        list(decoded(before + bytes(length)))


def test_cell_with_empty_names_is_read():
    key = struct.pack(">H", 1) + b"r" + b"\x00" + struct.pack(">QB", 7, 4)
    cell = struct.pack(">II", len(key), 0) + key
    assert list(decoded(struct.pack(">I", len(cell)) + cell)) == [(b"r", Cell(b"", b"", 7, b""))]


def test_head_for_a_length_of_a_value_is_kept_once():
    made = encoder()
    for _ in range(3):
        made.put(Put(b"row", {b"f:a": b"v"}, 1))
    assert heads_of(made) == made._heads.kept == 1


@pytest.mark.parametrize("more", range(1, 16))
def test_row_that_leaves_no_room_for_the_rest_of_its_key_is_an_error(more: int):
    """The last cell of a block: where the length of its family should be, there may be no byte."""
    block = encoder().put(Put(b"r", {b"f:q": b""}, 1))
    size, key_bytes, value_bytes, row_bytes = struct.unpack_from(">IIIH", block)
    damaged = struct.pack(">IIIH", size, key_bytes, value_bytes, row_bytes + more) + block[14:]
    with pytest.raises(WireError):
        list(decoded(damaged))


@given(block=st.binary(max_size=60))
def test_any_bytes_are_cells_or_an_error(block):
    for source in (block, encoder().put(Put(b"r", {b"f:q": b"v"}, 1))[: len(block)]):
        try:
            cells = list(decoded(source))
        except WireError:
            continue
        assert sum(24 + len(row) + sum(map(len, (c.family, c.qualifier, c.value))) for row, c in cells) <= len(source)


def test_row_of_no_cells():
    assert row_of([]) is None
