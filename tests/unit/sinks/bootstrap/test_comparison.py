"""The comparison of two tables."""

from hypothesis import given
from hypothesis import strategies as st

from ingest.api import Cell, Row
from sinks.bootstrap import comparison
from sinks.bootstrap.comparison import compared
from sinks.dumps.checksum import no_rows

TABLES = st.dictionaries(st.binary(min_size=1, max_size=2), st.integers(0, 2), max_size=6)


def rows_of(times: dict[bytes, int]) -> list[Row]:
    return [Row(key, (Cell(b"f", b"q", at, b"v"),)) for key, at in sorted(times.items())]


@given(TABLES, TABLES)
def test_rows_that_one_lacks_or_has_with_another_time_differ(one, other):
    found = compared(rows_of(one), rows_of(other))
    assert found.differing == sorted(key for key in one.keys() | other.keys() if one.get(key) != other.get(key))
    assert (found.source == found.target) == (one == other)
    assert (found.source.rows, found.target.rows) == (len(one), len(other))


def test_number_of_kept_keys_is_bounded(monkeypatch):
    monkeypatch.setattr(comparison, "MAX_DIFFERING", 2)
    found = compared(rows_of({b"a": 1, b"b": 1, b"c": 1}), [])
    assert found.differing == [b"a", b"b"]
    assert found.is_cut
    assert found.target == no_rows()
