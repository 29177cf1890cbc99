"""Names in an archive, and what is not ours."""

from datetime import UTC, datetime

import pytest

from sinks.archive.layout import (
    NO_TIME,
    ArchiveFormat,
    EntryKind,
    PartitionRule,
    PartName,
    is_table_name,
    kind_in_partition,
    kind_in_version,
    staging_folder,
    version_folder,
    version_id_of,
    writer_digits,
)

NOON_MS = int(datetime(2015, 12, 10, 12, tzinfo=UTC).timestamp() * 1000)


def test_partition_of_a_time_is_in_utc() -> None:
    assert PartitionRule().value_of(NOON_MS) == "20151210"
    assert PartitionRule("hour", "%Y-%m-%d-%H").value_of(NOON_MS) == "2015-12-10-12"


@pytest.mark.parametrize("value", ["20151210", NO_TIME, "2015/12 10"])
def test_folder_of_a_partition_is_read_back(value: str) -> None:
    rule = PartitionRule()
    assert rule.value_in(rule.folder_of(value)) == value


@pytest.mark.parametrize("folder", ["_tmp", "dt", "dt=", "day=20151210", "dt=2015 1210", "x"])
def test_other_folder_is_no_partition(folder: str) -> None:
    assert PartitionRule().value_in(folder) is None


@pytest.mark.parametrize(
    ("column", "pattern"),
    [
        ("", "%Y"),
        ("a b", "%Y"),
        ("version_id", "%Y"),
        ("Version_ID", "%Y"),
        ("_x", "%Y"),
        ("dt", "%d"),
        ("dt", "%Y/%m"),
        ("dt", "%Y%M"),
    ],
)
def test_rule_that_names_no_partitions(column: str, pattern: str) -> None:
    assert PartitionRule(column, pattern).problem is not None


def test_rule_that_names_partitions() -> None:
    assert PartitionRule().problem is None
    assert PartitionRule("hour", "%Y-%m-%dT%H").problem is None


def test_name_of_a_file_is_read_back() -> None:
    name = PartName(NOON_MS, 7, writer_digits("p+archive", "1"), ArchiveFormat.JSON.suffix)
    assert str(name) == f"part-000{NOON_MS}-00007-{name.writer}.json.gz"
    assert PartName.parsed(str(name)) == name
    assert PartName.parsed("part-r-00001.gz") is None


def test_names_of_two_sinks_differ() -> None:
    assert len({writer_digits(writer, name) for writer in ("a", "b") for name in ("1", "2")}) == 4


def test_version_folder_is_read_back() -> None:
    assert version_folder(1449784608) == "version=1449784608"
    assert version_id_of("version=1449784608") == 1449784608


@pytest.mark.parametrize("name", ["version= 1449847129", "versionid=1", "version=abc", "version=1", "version="])
def test_3c13_other_names_are_foreign(name: str) -> None:
    assert version_id_of(name) is None
    assert kind_in_partition(name, is_folder=True) is EntryKind.FOREIGN


def test_kinds_of_entries() -> None:
    assert kind_in_partition("version=1449784608", is_folder=True) is EntryKind.VERSION
    assert kind_in_partition("_CURRENT", is_folder=False) is EntryKind.MARKER
    assert kind_in_partition("notes.txt", is_folder=False) is EntryKind.FOREIGN
    assert kind_in_version("_SUCCESS", is_folder=False) is EntryKind.MARKER
    assert kind_in_version(str(PartName(1, 2, "00000000", "parquet")), is_folder=False) is EntryKind.PART
    assert kind_in_version("notes.txt", is_folder=False) is EntryKind.FOREIGN
    assert kind_in_version("sub", is_folder=True) is EntryKind.FOREIGN


def test_staging_folders() -> None:
    assert staging_folder("p+a") == "_tmp/p+a"
    assert staging_folder("p+a", "7-0") == "_tmp/p+a/7-0"


@pytest.mark.parametrize("name", ["", "_x", "a/b", "..", "a b", "a:b"])
def test_name_that_is_no_table(name: str) -> None:
    assert not is_table_name(name)


def test_name_of_a_table() -> None:
    assert is_table_name("customer_v2")
