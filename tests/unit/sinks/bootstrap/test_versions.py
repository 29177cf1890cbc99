"""Which cells of a dump may be written beside a feed."""

import pytest

from ingest.api import Cell, Row
from sinks.bootstrap.versions import TouchedRows, unless_newer

ROW = Row(b"r", (Cell(b"f", b"a", 5, b"1"), Cell(b"f", b"b", 6, b"2")))


@pytest.mark.parametrize(
    ("present", "kept"),
    [
        (None, ROW.cells),
        (Row(b"r", ()), ROW.cells),
        (Row(b"r", (Cell(b"f", b"a", 4, b""),)), ROW.cells),
        (Row(b"r", (Cell(b"f", b"a", 5, b"other"), Cell(b"g", b"b", 9, b""))), ROW.cells[1:]),
        (Row(b"r", (Cell(b"f", b"a", 9, b""), Cell(b"f", b"b", 7, b""))), ()),
    ],
)
def test_only_cells_that_are_not_there_with_the_same_or_a_later_time(present, kept):
    assert unless_newer(ROW, present) == Row(b"r", kept)


def test_added_keys_are_found():
    touched = TouchedRows()
    keys = [b"%d" % number for number in range(1_000)]
    for key in keys:
        touched.add(key)
    assert all(map(touched.may_have, keys))
    assert sum(touched.may_have(b"other%d" % number) for number in range(1_000)) < 5


def test_process_that_does_not_know_takes_every_key_for_added():
    touched = TouchedRows(is_full=True)
    touched.add(b"a")
    assert touched.may_have(b"b")
