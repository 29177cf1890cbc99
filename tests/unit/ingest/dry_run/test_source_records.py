"""Samples of the records of a source."""

from itertools import count

import pytest

from ingest.config.test_cases import Given, GivenRecord
from ingest.dry_run.source_records import within


def given(length):
    return Given(record=GivenRecord(value="x" * length, topic="t"))


SMALL = len(given(10).model_dump_json())


@pytest.mark.parametrize(
    ("most_bytes", "number", "is_cut"), [(3 * SMALL - 1, 2, True), (3 * SMALL, 3, False), (0, 1, True)]
)
def test_sample_ends_before_it_is_too_large_and_has_one_record_at_least(most_bytes, number, is_cut):
    assert within(most_bytes, [given(10)] * 3) == ([given(10)] * number, is_cut)


def test_records_after_a_sample_are_not_read():
    read = count()
    within(SMALL, (given(10) for _ in read))
    assert next(read) == 2


def test_empty_source_has_an_empty_sample():
    assert within(1, []) == ([], False)
