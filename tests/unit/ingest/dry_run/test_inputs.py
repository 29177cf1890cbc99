"""Records as inputs of a dry run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import Record
from ingest.api.notation import name_from_bytes
from ingest.dry_run import given_of_record
from ingest.dry_run.inputs import BadInputError, InputLines, record_of

some_bytes = st.binary(max_size=6)
names = some_bytes.map(name_from_bytes)
records = st.builds(
    Record,
    topic=st.text("abc-", min_size=1, max_size=5),
    partition=st.integers(0, 9),
    offset=st.integers(0, 2**40),
    key=st.none() | some_bytes,
    value=st.none() | some_bytes,
    timestamp_ms=st.integers(-1, 2**42),
    headers=st.lists(st.tuples(names, st.none() | some_bytes), max_size=3).map(tuple),
)


@given(records)
def test_record_survives_as_an_input(record):
    assert record_of(99, given_of_record(record).record) == record


def test_bodies_given_as_events_are_pointed_to_lines():
    with pytest.raises(BadInputError, match=r"no field of an event.*--lines"):
        list(InputLines([b'{"ts": 1, "user": "a"}']))
    (event,) = InputLines([b'{"body": "a", "attributes": {"ts": "1"}}'])
    assert event.body == "a"
