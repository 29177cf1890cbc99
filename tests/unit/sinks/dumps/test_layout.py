"""Names of files and folders."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import ConfigError
from sinks.dumps.layout import (
    FileFormat,
    check_tables,
    decoded_table,
    dump_name,
    dump_time,
    encoded_table,
    file_format,
    id_of_run,
    part_of,
    run_folder,
    second_of,
    table_file_name,
)


@given(st.integers(0, 253_402_300_799_999))
def test_name_of_a_dump_is_its_start_in_seconds(time_ms):
    assert dump_time(dump_name(time_ms)) == time_ms // 1_000 * 1_000


def test_names_are_those_of_emodb():
    assert (dump_name(1_424_736_000_000), second_of(1_424_736_000_999)) == (
        "2015-02-24-00-00-00",
        "2015-02-24T00:00:00Z",
    )
    assert (encoded_table("ns:t"), decoded_table("ns~t")) == ("ns~t", "ns:t")


@pytest.mark.parametrize(
    "name", ["", "_run-x", "2015-02-24", "2015-02-30-00-00-00", "2015-02-24-00-00-60", "\u0662015-02-24-00-00-00"]
)
def test_other_folders_are_no_dumps(name):
    assert dump_time(name) is None


@given(st.integers(0, 10_000_000), st.sampled_from(FileFormat))
def test_part_and_format_are_in_the_name_of_a_file(part, kind):
    name = table_file_name("ns:t-1", part, kind)
    assert (part_of(name), file_format(name)) == (part, kind)
    assert name.startswith("ns~t-1/ns~t-1-")


def test_other_files_are_not_of_a_table():
    assert [part_of(name) for name in ("t/mine.json.gz", "t-0-0-0.json.gz", "_SUCCESS")] == [None] * 3


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        (["a:b", "a~b"], "same folder"),
        (["a/b"], "no name"),
        (["_a"], "no name"),
        ([".a"], "no name"),
        ([""], "no name"),
    ],
)
def test_tables_without_a_folder_of_their_own_are_refused(tables, message):
    with pytest.raises(ConfigError, match=message):
        check_tables(tables)
    check_tables(["a", "a", "ns:a"])


@pytest.mark.parametrize("run_id", ["", "../x", "a/b", "a b", "-a", "a" * 129])
def test_id_that_is_no_name_is_refused(run_id):
    with pytest.raises(ConfigError):
        run_folder(run_id)


def test_id_of_a_run():
    assert (id_of_run(run_folder("7f.3_a-b")), id_of_run("2015-02-24-00-00-00")) == ("7f.3_a-b", None)
