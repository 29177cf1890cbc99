"""The checksum of a table: what it depends on, and what not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import Cell, Row
from sinks.dumps.checksum import TableChecksum, no_rows

CELL = Cell(b"f", b"q", 5, b"value")
ROWS = st.builds(
    Row,
    st.binary(min_size=1, max_size=3),
    st.lists(
        st.builds(
            Cell, st.sampled_from([b"f", b"ff"]), st.binary(max_size=2), st.integers(0, 9), st.binary(max_size=2)
        ),
        max_size=3,
    ).map(tuple),
)


def checksum_of(*rows: Row) -> TableChecksum:
    found = no_rows()
    for row in rows:
        found.add(row)
    return found


@given(st.lists(ROWS, max_size=6), st.randoms(use_true_random=False))
def test_order_does_not_matter(rows, random):
    shuffled = list(rows)
    random.shuffle(shuffled)
    assert checksum_of(*shuffled) == checksum_of(*rows)


@pytest.mark.parametrize(
    "other",
    [
        Row(b"s", (CELL,)),
        Row(b"r", (CELL._replace(family=b"g"),)),
        Row(b"r", (CELL._replace(qualifier=b"p"),)),
        Row(b"r", (CELL._replace(timestamp_ms=6),)),
        Row(b"r", (CELL._replace(value=b"valuf"),)),
        Row(b"r", (CELL._replace(qualifier=b"", value=b"qvalue"),)),
        Row(b"rf", (CELL._replace(family=b""),)),
        Row(b"r", (CELL, CELL._replace(timestamp_ms=4))),
        Row(b"r", ()),
    ],
)
def test_every_byte_and_time_counts(other):
    assert checksum_of(other) != checksum_of(Row(b"r", (CELL,)))


def test_row_that_is_there_twice_counts_twice():
    row = Row(b"r", (CELL,))
    assert checksum_of(row, row) != checksum_of(row)
    assert checksum_of(row, row).rows == 2


@given(st.lists(ROWS, max_size=3))
def test_plain_data_and_back(rows):
    found = checksum_of(*rows)
    assert TableChecksum.from_json(found.to_json()) == found
    assert len(str(found.to_json()["digest"])) == 32


@pytest.mark.parametrize(
    "content", [{}, {"rows": "1", "cells": 1, "digest": "00"}, {"rows": 1, "cells": 1, "digest": "no"}]
)
def test_other_data_is_refused(content):
    with pytest.raises(ValueError, match="validation error"):
        TableChecksum.from_json(content)


def test_digest_does_not_change_between_versions():
    """Progress of an interrupted bootstrap has it."""
    assert checksum_of(Row(b"r", (CELL,))).to_json() == {
        "rows": 1,
        "cells": 1,
        "digest": "4b47faf5310513ba8fb1f3119a016732",
    }
