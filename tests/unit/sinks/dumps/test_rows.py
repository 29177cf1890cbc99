"""Rows of a dump and their lines of JSON."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ingest.api import MAX_TIME_MS, Cell, DecodeError, Row
from sinks.dumps.rows import DumpRow, column_of, document_of, shown_column

TIMES = st.integers(0, MAX_TIME_MS)
FAMILIES = st.binary(min_size=1, max_size=6).filter(lambda family: b":" not in family)
CELLS = st.dictionaries(st.tuples(FAMILIES, st.binary(max_size=6)), st.tuples(TIMES, st.binary(max_size=8)), max_size=5)


@given(st.binary(min_size=1, max_size=8), st.text(min_size=1, max_size=8), CELLS)
@example(b"\xff", "t", {(b"f", b'"'): (1, "😀".encode()), (b"f", b""): (1, b""), (b"f", b":~ts"): (2, b"\xff\xfe")})
def test_every_row_comes_back_from_its_line(key, table, content):
    cells = tuple(Cell(*column, *value) for column, value in sorted(content.items()))
    row = DumpRow(key, table, cells)
    line = row.to_line()
    assert row == DumpRow.of_document(document_of(line))
    assert line == DumpRow.of_document(document_of(line)).to_line()
    assert (line.count(b"\n"), line[-1:]) == (1, b"\n")


@given(st.binary(max_size=20))
@example(b"\\x41")
@example(b"\\\xff")
@example(b"\\\\x5c\xed\xa0\x80x")
def test_every_column_name_comes_back(column):
    assert column == column_of(shown_column(column))


def test_line_of_a_row():
    cells = (Cell(b"f", b"name", 1_000, b"Ann"), Cell(b"f", b"photo", 2_000, b"\xff\xfe"))
    assert DumpRow(b"user-17", "ns:users", cells).to_line() == (
        b'{"f:name":"Ann","f:photo":{"b64":"//4="},"~deleted":false,'
        b'"~firstUpdateAt":"1970-01-01T00:00:01.000Z","~id":"user-17",'
        b'"~lastUpdateAt":"1970-01-01T00:00:02.000Z","~table":"ns:users","~ts":{"f:name":1000},"~version":2000}\n'
    )


def test_times_are_left_out_if_all_are_the_version():
    cells = (Cell(b"f", b"a", 7, b"1"), Cell(b"f", b"b", 7, b"2"))
    assert "~ts" not in json.loads(DumpRow(b"k", "t", cells).to_line())


def test_only_the_newest_version_of_a_column_is_dumped():
    cells = (Cell(b"f", b"a", 9, b"new"), Cell(b"f", b"a", 7, b"old"), Cell(b"f", b"b", 7, b"2"))
    assert DumpRow.of("t", Row(b"k", cells)).cells == (cells[0], cells[2])


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", "not JSON"),
        (b"[]", "not an object"),
        (b'{"~id":"k","~table":"t"}', "it lacks '~version'"),
        (b'{"~id":"k","~table":"t","~version":1,"name":"Ann"}', '"name" is no column'),
        (b'{"~id":"k","~table":"t","~version":1,":q":"Ann"}', '":q" is no column'),
        (b'{"~id":"k","~table":"t","~version":1,"f:q":{"c":[1]}}', "neither text nor bytes"),
        (b'{"~id":"k","~table":"t","~version":"1"}', "another type"),
        (b'{"~id":"k","~table":"t","~version":1,"~ts":{"f:q":"x"},"f:q":"v"}', "no number"),
        (b'{"~id":"k","~table":"t","~version":1,"f:\\\\xzz":"v"}', "which is no byte"),
    ],
)
def test_other_lines_are_refused(line, reason):
    with pytest.raises(DecodeError, match=reason):
        DumpRow.of_document(document_of(line))


def test_documents_of_emodb_are_read_as_they_are():
    line = b'{"~id":"b1","~table":"books","~signature":"ab","author":{"name":"Ann","tags":[1,null]}}'
    assert document_of(line)["author"] == {"name": "Ann", "tags": [1, None]}
