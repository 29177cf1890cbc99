"""The options of the data source."""

import pytest

from ingest.api import ALL_TIMES, ConfigError, FuzzyPattern, Scan, TimeRange
from ingest.catalog import table_features
from ingest.formats.cell_types import CellType
from ingest.spark.datasource.columns import DeclaredColumns
from ingest.spark.datasource.options import (
    OPTIONS,
    TableOptions,
    WriteOptions,
    read_options,
    table_options,
    write_options,
)


def test_table_of_a_pipeline_file():
    assert table_options({"config": "p.yaml", "table": "t", "columns": "m:x"}) == TableOptions("t", "p.yaml", None)
    assert table_options({"config": "p.yaml", "table": "t", "store": "logs"}).store == "logs"


def test_other_options_are_those_of_the_store():
    found = table_options({"store": "hbase", "table": "t", "host": "h", "thrift2.port": "1", "start": "a"})
    assert found == TableOptions("t", None, "hbase", {"host": "h", "thrift2.port": "1"})


def test_options_of_a_store_are_not_shown():
    assert "secret" not in repr(table_options({"store": "hbase", "table": "t", "password": "secret"}))


def test_options_of_a_streaming_query_are_no_options_of_the_store():
    assert table_options({"config": "p.yaml", "table": "t", "checkpointlocation": "/c"}).store_options == {}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"config": "p.yaml"}, "the name of the table is missing"),
        ({"config": "p.yaml", "table": "default:t"}, 'the option "table" is "default:t"; write "t"'),
        ({"table": "t"}, "neither a pipeline file nor a store is given"),
        ({"config": "p.yaml", "table": "t", "prefx": "a"}, 'there is no option "prefx"; did you mean "prefix"?'),
        ({"config": "p.yaml", "table": "t", "host": "h"}, "options of the store belong into p.yaml"),
    ],
)
def test_mistakes_in_the_table_are_named(options: dict[str, str], message: str):
    with pytest.raises(ConfigError) as raised:
        table_options(options)
    assert message in str(raised.value)


def test_keys_and_patterns_are_written_in_the_notation_of_keys():
    options = {"start": r"a\x00", "stop": "ü", "prefix": "a", "fuzzy": r"a?\x2c,b", "minpartitions": "4"}
    found = read_options(options)
    patterns = (FuzzyPattern(b"a\x00,", b"\x00\x01\x00"), FuzzyPattern.parse("b"))
    assert found.scan == Scan(start=b"a\x00", stop="ü".encode(), prefix=b"a", fuzzy=patterns)
    assert (found.min_partitions, found.has_versions, found.push_filters) == (4, False, False)


def test_options_of_features_are_options_of_a_read():
    names = {name for feature in table_features() for name in feature.read_options}
    assert names <= OPTIONS
    assert read_options(dict.fromkeys(names, "true")).asked == names


def test_only_declared_columns_are_read():
    assert read_options({"columns": "m:x, n:y"}).scan.columns == (b"m:x", b"n:y")


def test_versions_are_read_with_their_times():
    found = read_options({"versions": "3", "push_filters": "true", "blobs": "true"})
    assert (found.scan.versions, found.has_versions, found.push_filters, found.asked) == (3, True, True, {"blobs"})


@pytest.mark.parametrize(
    ("options", "times"),
    [
        ({}, ALL_TIMES),
        ({"start_time": "1970-01-01T00:00:01Z", "end_time": "5000"}, TimeRange(1000, 5000)),
        ({"start_time": "1308748686334"}, TimeRange(1_308_748_686_334)),
        ({"end_time": "1970-01-02T01:00+01:00"}, TimeRange(0, 86_400_000)),
    ],
)
def test_time_range_of_a_read(options: dict[str, str], times: TimeRange):
    assert read_options(options).scan == Scan(times=times)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"versions": "0"}, 'the option "versions" is "0"'),
        ({"minpartitions": "many"}, 'the option "minPartitions" is "many"'),
        ({"minpartitions": "10001"}, "at most 10000 are allowed"),
        ({"push_filters": "yes"}, 'the option "push_filters" is "yes"'),
        ({"versions": "2", "columns": "m:x"}, "exclude each other"),
        ({"time": "0"}, 'the option "time" only applies to a write'),
        ({"start_time": "2026-01-31T12:00"}, 'the option "start_time" is "2026-01-31T12:00", which is no time with a'),
        ({"end_time": "-1"}, 'the option "end_time" is "-1", which is no time'),
        ({"start_time": "9223372036854775807"}, "write a time from 0 to"),
        ({"end_time": "0"}, 'the option "end_time" is "0", which is not later than the start of the range; start_time'),
        ({"start_time": "7", "end_time": "6"}, 'the option "end_time" is "6", which is not later than'),
    ],
)
def test_mistakes_in_a_read_are_named(options: dict[str, str], message: str):
    with pytest.raises(ConfigError) as raised:
        read_options(options)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("text", "time_ms"), [("0", 0), ("1308748686334", 1_308_748_686_334), ("1970-01-02T00:00:00Z", 86_400_000)]
)
def test_time_of_a_write(text: str, time_ms: int):
    assert write_options({"time": text}, is_streaming=True) == WriteOptions(DeclaredColumns(), time_ms)


def test_a_batch_write_needs_no_time():
    assert write_options({}, is_streaming=False).time_ms is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "a streaming write needs the timestamp of its cells"),
        ({"time": "1", "time_column": "at"}, "exclude each other"),
        ({"time": "yesterday"}, 'the option "time" is "yesterday", which is no time with a zone; write milliseconds'),
        ({"time": "9223372036854775807"}, "write a time from 0 to"),
        ({"time": "1", "prefix": "a"}, 'the option "prefix" only applies to a read'),
        ({"time": "1", "end_time": "2"}, 'the option "end_time" only applies to a read'),
    ],
)
def test_mistakes_in_a_write_are_named(options: dict[str, str], message: str):
    with pytest.raises(ConfigError) as raised:
        write_options(options, is_streaming=True)
    assert message in str(raised.value)


def test_column_that_is_written_needs_the_type_that_the_table_shows():
    types = {b"m:n": CellType.INT64, b"m:text": CellType.UTF8}
    columns = {"columns": "m:text, m:other, m:n as a int64, m:n as b utf8"}
    found = write_options(columns, types.get, is_streaming=False).columns
    assert [column.cell_type for column in found] == [CellType.UTF8, CellType.UTF8, CellType.INT64, CellType.UTF8]
    with pytest.raises(ConfigError, match='"m:n" has no TYPE, and the table shows it as int64') as caught:
        write_options({"columns": "m:text, m:n"}, types.get, is_streaming=False)
    assert caught.value.hint == "write TYPE after it: int64, or utf8 for text"


def test_option_of_a_read_is_named_as_it_is_written():
    with pytest.raises(ConfigError, match='the option "minPartitions" only applies to a read'):
        write_options({"minpartitions": "4"}, is_streaming=False)
    with pytest.raises(ConfigError, match='did you mean "minPartitions"'):
        table_options({"table": "t", "config": "pipeline.yaml", "minpartition": "4"})
