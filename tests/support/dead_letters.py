"""Dead letters of every kind, for property tests."""

from dataclasses import replace

from hypothesis import strategies as st

from ingest.api import Record
from ingest.api.notation import name_from_bytes
from ingest.dead_letters.blobs import DeadLetterBlob
from ingest.dead_letters.envelope import DeadLetter, PlaceRange

INT64 = st.integers(-(2**63), 2**63 - 1)
NAMES = st.binary(max_size=20).map(name_from_bytes)
UNICODE = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
RECORDS = st.builds(
    Record,
    topic=NAMES,
    partition=st.integers(0, 2**31 - 1),
    offset=st.integers(0, 2**63 - 1),
    key=st.none() | st.binary(),
    value=st.none() | st.binary(),
    timestamp_ms=INT64,
    headers=st.lists(st.tuples(NAMES, st.none() | st.binary(max_size=20)), max_size=4).map(tuple),
)
BLOBS = st.builds(
    DeadLetterBlob, UNICODE, st.binary(min_size=32, max_size=32).map(bytes.hex), st.integers(0, 2**63 - 1)
)
WHOLE_LETTERS = st.builds(
    DeadLetter,
    record=RECORDS,
    fan_out=st.integers(0, 2**31 - 1),
    attributes=st.dictionaries(NAMES, st.binary(), max_size=4),
    pipeline=UNICODE,
    component=UNICODE,
    code=UNICODE,
    message=UNICODE,
    batch_time_ms=INT64,
    fingerprint=UNICODE,
    pointer=st.none() | UNICODE,
    events=st.integers(1, 2**31 - 1),
    source_batch_ms=st.none() | INT64,
    table=st.none() | UNICODE,
    product=UNICODE,
)
UNREAD_LETTERS = st.builds(
    lambda letter, unread: replace(
        letter, record=letter.record._replace(key=None, value=None, headers=()), attributes={}, by_place=unread
    ),
    WHOLE_LETTERS,
    st.builds(PlaceRange, st.none() | st.integers(0, 2**63 - 1), st.booleans(), UNICODE),
)
LETTERS = WHOLE_LETTERS | st.builds(DeadLetter.with_blob, WHOLE_LETTERS, BLOBS) | UNREAD_LETTERS
