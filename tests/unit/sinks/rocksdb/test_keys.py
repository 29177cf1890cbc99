"""Keys sort as cells do, and can be decoded."""

from hypothesis import given
from hypothesis import strategies as st

from ingest.api import MAX_TIME_MS
from sinks.rocksdb.keys import (
    CELL_TAIL_BYTES,
    END,
    after,
    cell_column,
    column_delete_suffix,
    column_head,
    decode_text,
    decode_time,
    encode_text,
    encode_time,
    family_delete_suffix,
    family_head,
    row_head,
    version_delete_suffix,
    version_start,
)

# bytes that the encoding escapes are frequent
texts = st.one_of(st.binary(max_size=8), st.lists(st.sampled_from([0, 1, 2, 254, 255]), max_size=6).map(bytes))
times = st.integers(min_value=0, max_value=MAX_TIME_MS)


@given(texts)
def test_text_round_trips(text):
    encoded = encode_text(text)
    assert encoded.endswith(END)
    assert decode_text(encoded[: -len(END)]) == text
    assert encoded.index(END) == len(encoded) - len(END)


@given(texts, texts, st.binary(max_size=4), st.binary(max_size=4))
def test_order_of_texts_is_kept_whatever_follows(one, other, after_one, after_other):
    if one != other:
        assert (encode_text(one) + after_one < encode_text(other) + after_other) == (one < other)


@given(texts, texts)
def test_no_text_is_a_prefix_of_another(one, other):
    assert one == other or not encode_text(one).startswith(encode_text(other))


@given(times, times)
def test_later_times_sort_first(one, other):
    assert decode_time(encode_time(one)) == one
    assert (encode_time(one) < encode_time(other)) == (one > other)


families = texts.map(lambda name: name.replace(b":", b"") or b"f")


def cell(row: bytes, family: bytes, qualifier: bytes, at: int) -> bytes:
    return encode_text(row) + cell_column(family + b":" + qualifier) + encode_time(at)


cells = st.tuples(texts, families, texts, times)


@given(cells, cells)
def test_cells_sort_by_row_family_qualifier_and_newest_first(one, other):
    assert (cell(*one) < cell(*other)) == ((*one[:3], -one[3]) < (*other[:3], -other[3]))


@given(texts, families, texts, times, times)
def test_deletes_sort_before_the_cells_they_hide(row, family, qualifier, deleted_ms, at):
    head = encode_text(row)
    family_delete = head + family_delete_suffix(family, deleted_ms)
    column_delete = head + column_delete_suffix(family, qualifier, deleted_ms)
    assert family_delete < column_delete < cell(row, family, qualifier, at)


near = st.one_of(st.integers(0, 3), st.integers(MAX_TIME_MS - 3, MAX_TIME_MS))


@given(texts, families, texts, near, near)
def test_delete_of_a_version_sorts_directly_before_its_cell(row, family, qualifier, deleted_ms, at):
    head = encode_text(row)
    delete = head + version_delete_suffix(family, qualifier, deleted_ms)
    column = head + encode_text(family) + b"\x01" + encode_text(qualifier)
    assert delete == column + version_start(deleted_ms)
    assert (delete < cell(row, family, qualifier, at)) == (at <= deleted_ms)
    assert head + column_delete_suffix(family, qualifier, at) < delete
    assert decode_time(delete) == deleted_ms
    assert len(cell(row, family, qualifier, at)) == len(column) + CELL_TAIL_BYTES < len(delete)


@given(cells)
def test_parts_of_a_key_are_decoded(one):
    row, family, qualifier, at = one
    key = cell(*one)
    head = row_head(key)
    assert head == encode_text(row)
    assert family_head(key[len(head) :]) == encode_text(family)
    assert column_head(key[len(head) + len(encode_text(family)) :]) == b"\x01" + encode_text(qualifier)
    assert decode_time(key) == at


@given(texts, st.binary(max_size=4), texts)
def test_key_after_a_text_sorts_after_all_keys_with_it(text, more, other):
    beyond = after(encode_text(text))
    assert encode_text(text) + more < beyond
    assert (beyond < encode_text(other)) == (text < other)


def test_every_byte_sorts_in_order():
    every = [bytes([number]) for number in range(256)]
    assert [encode_text(byte) for byte in every] == sorted(encode_text(byte) for byte in every)
