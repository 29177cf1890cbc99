"""Any record is stored, dropped or dead-lettered; none stops a pipeline."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import Record
from ingest.catalog import Catalog
from ingest.config import load
from ingest.dead_letters.envelope import DeadLetter
from tests.support.any_bytes import FORMATS, pipeline_of, random_records, table
from tests.support.audit import table_of
from tests.support.without_spark import WithoutSpark, records_of

HEADER_NAMES = st.one_of(
    st.sampled_from(["host", "priority", "nanos", "2hb_", "2hb_colfam:q", "2hb_sys:host", "2hb_new:q", "2hb_:"]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
)
RECORDS = st.lists(
    st.builds(
        Record,
        topic=st.sampled_from(["t", "a/b", "größe"]),
        partition=st.integers(0, 3),
        offset=st.integers(0, 2**62),
        key=st.none() | st.binary(max_size=20),
        value=st.none() | st.binary(max_size=60) | st.sampled_from([b'{"a": 1}', b'{"body": "x"}', b"\x00\x02x"]),
        timestamp_ms=st.integers(-1, 2**53),
        headers=st.lists(st.tuples(HEADER_NAMES, st.none() | st.binary(max_size=20)), max_size=4).map(tuple),
    ),
    max_size=8,
    unique_by=lambda record: record.place,
)


@pytest.fixture(scope="module", params=FORMATS)
def pipeline(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> WithoutSpark:
    folder = tmp_path_factory.mktemp("any")
    source = {"brokers": "localhost:9092", "topics": ["t"]}
    content = {
        "version": 1,
        "stores": {"kept": {"memory": {}}},
        "tables": {"t": table("kept")},
        "pipelines": {"any": pipeline_of(request.param, source, "kept", "t")},
    }
    file = folder / "pipeline.yaml"
    file.write_text(json.dumps(content, ensure_ascii=False))
    return WithoutSpark(load(file, env={}, lookup=Catalog()), "any", folder / "incoming")


@given(records=RECORDS)
def test_every_record_has_one_outcome(pipeline: WithoutSpark, records: list[Record]) -> None:
    counts, dead_letters = pipeline.run(records, 1_700_000_000_000)
    assert counts.read == len(records)
    assert counts.stored + counts.dropped.total() + counts.dead_lettered.total() == len(records)
    decoded = [DeadLetter.from_json(line) for line in dead_letters]
    assert len(decoded) == counts.dead_lettered.total()
    assert {dead_letter.code for dead_letter in decoded} == counts.dead_lettered.keys()
    assert all(dead_letter.record in records for dead_letter in decoded)


def test_replayed_batch_gives_the_same_result(pipeline: WithoutSpark) -> None:
    records = records_of(random_records(500, partitions=1, seed=7))
    counts, dead_letters = pipeline.run(records, 1_700_000_000_000)
    rows = table_of(pipeline.store, "t", versions=10)
    counts_again, dead_letters_again = pipeline.run(records, 1_700_000_000_000)
    assert counts.stored > 0
    assert (counts_again.stored, dead_letters_again) == (counts.stored, dead_letters)
    assert table_of(pipeline.store, "t", versions=10) == rows
