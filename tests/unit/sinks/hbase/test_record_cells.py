"""What the cell of a table record may be."""

import pytest

from ingest.api import IntegrityError
from sinks.hbase.records import buckets_of


@pytest.mark.parametrize(("value", "buckets"), [(None, None), (b"", None), (b"16", 16), (b"256", 256)])
def test_cell_is_a_number_of_buckets(value, buckets):
    assert buckets_of("t", value) == buckets


@pytest.mark.parametrize("value", [b"v2:16", b"-1", b"\xff"])
def test_record_of_another_version_is_refused(value):
    with pytest.raises(IntegrityError) as caught:
        buckets_of("t", value)
    assert caught.value.message.startswith('the record of table "t" in table "attr2hbase" is ')
    assert caught.value.hint == "use the version that wrote it, or a later one"
