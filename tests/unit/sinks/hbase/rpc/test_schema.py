"""Tables and families as messages."""

import pytest

from ingest.api import FamilySpec, TableSpec
from sinks.hbase.protobuf import Message, data
from sinks.hbase.rpc.schema import (
    attributes_in,
    families_of,
    family_of,
    family_schema,
    name_of,
    table_name,
    table_schema,
    with_attributes,
)


@pytest.mark.parametrize(
    ("name", "namespace", "qualifier", "written"),
    [("t", b"default", b"t", "t"), ("default:t", b"default", b"t", "t"), ("ns:t", b"ns", b"t", "ns:t")],
)
def test_name_of_a_table(name: str, namespace: bytes, qualifier: bytes, written: str) -> None:
    found = Message(table_name(name))
    assert (found.data(1), found.data(2), name_of(found)) == (namespace, qualifier, written)


def test_families_are_read_as_they_were_written() -> None:
    families = (FamilySpec(b"a", versions=3, ttl_s=60, compression="gz", bloom="rowcol"), FamilySpec(b"b"))
    assert families_of(Message(table_schema(TableSpec("t", families[::-1])))) == families


def test_family_without_attributes_has_the_defaults() -> None:
    assert families_of(Message(data(3, data(1, b"f")))) == (FamilySpec(b"f"),)


@pytest.mark.parametrize("value", [b"", b"x", b"9" * 5000])
def test_attribute_that_is_no_number_has_its_default(value: bytes) -> None:
    attributes = b"".join(data(2, data(1, name) + data(2, value)) for name in (b"VERSIONS", b"TTL"))
    assert families_of(Message(data(3, data(1, b"f") + attributes))) == (FamilySpec(b"f"),)


def test_other_attributes_and_configuration_of_a_family_stay() -> None:
    before = data(1, b"f") + b"".join(
        data(2, data(1, name) + data(2, value)) for name, value in ((b"VERSIONS", b"1"), (b"BLOCKSIZE", b"1024"))
    )
    before += data(3, data(1, b"hbase.x") + data(2, b"y"))
    found = family_of(Message(data(3, before)), b"f")
    assert found is not None
    after = Message(family_schema(FamilySpec(b"f", versions=5), found))
    attributes = {pair.data(1): pair.data(2) for pair in after.messages(2)}
    assert attributes == {
        b"VERSIONS": b"5",
        b"BLOCKSIZE": b"1024",
        b"TTL": b"2147483647",
        b"COMPRESSION": b"NONE",
        b"BLOOMFILTER": b"ROW",
    }
    assert after.all_data(3) == [data(1, b"hbase.x") + data(2, b"y")]
    assert family_of(Message(data(3, before)), b"g") is None


def test_attributes_are_added_and_the_others_stay():
    before = Message(family_schema(FamilySpec(b"f", versions=5), others={"IN_MEMORY": "true"}))
    after = Message(with_attributes(before, {"DATA_BLOCK_ENCODING": "FAST_DIFF"}))
    table = Message(data(3, with_attributes(after, {})))
    assert families_of(table) == (FamilySpec(b"f", versions=5),)
    found = attributes_in(table)[b"f"]
    assert (found["DATA_BLOCK_ENCODING"], found["IN_MEMORY"], found["BLOCKSIZE"]) == ("FAST_DIFF", "true", "65536")
    assert "VERSIONS" not in found


def test_new_table_has_its_attributes():
    spec = TableSpec("t", (FamilySpec(b"f"), FamilySpec(b"g")), attributes=((b"g", "REPLICATION_SCOPE", "1"),))
    assert {name: each["REPLICATION_SCOPE"] for name, each in attributes_in(Message(table_schema(spec))).items()} == {
        b"f": "0",
        b"g": "1",
    }
