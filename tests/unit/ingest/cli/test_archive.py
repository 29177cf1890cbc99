"""`attr2hbase archive`: versions of archived tables, without a metastore."""

import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sinks.archive.layout import CURRENT, SUCCESS, WRITERS, PartName
from sinks.archive.partition import Partition
from sinks.archive.rewrites import Announcement, announce
from sinks.archive.switching import switch
from sinks.files.local_root import LocalRoot

FIRST_S, SECOND_S = 1449784608, 1449847129
PART = "part-0001449784612345-00000-5f0c9a31.parquet"
FILE = """
version: 1
service: {http: {listen: "127.0.0.1:1"}}  # no service answers there
pipelines:
  logs:
    source: {kafka: {topics: [t], brokers: localhost:1}}
    sinks:
      - archive:
          {root: ./archive, table: customer, columns: {user: '%{user}', amount: {value: '%{amount}', type: int64}}}
"""
OF_TABLE = ("customer",)


@pytest.fixture
def partition(folder) -> Partition:
    (folder / "pipeline.yaml").write_text(FILE)
    partition = Partition(LocalRoot(folder / "archive" / "customer"), "dt=20151210")
    for now_s in (FIRST_S, SECOND_S):
        version_id = partition.create(now_s, "test")
        partition.root.write(partition.path(version_id, PART), b"rows")
        partition.complete(version_id)
    partition.write_pointer(FIRST_S)
    return partition


def write_rows(partition: Partition, columns: dict[str, list[object]]) -> None:
    """Replace the file of the first version."""
    with partition.root.new_file(partition.path(FIRST_S, PART)) as file:
        pq.write_table(pa.table(columns), file)


def add_file(partition: Partition) -> None:
    """A copy of the file of the first version, as if a later micro-batch had written it."""
    name = PartName.parsed(PART)
    later = str(name._replace(time_ms=name.time_ms + 1))
    partition.root.write(partition.path(FIRST_S, later), partition.root.read(partition.path(FIRST_S, PART)))


def test_history(ingest, partition):
    late = partition.create(SECOND_S, "archive rerun")
    (partition.root._folder / partition.folder / "versionid=1").mkdir()
    announce(partition.root, Announcement("r", partition.folder, SECOND_S, "test", 1 << 60))
    lines = ingest("archive", "history", *OF_TABLE, "--dt", "20151210", "--output", "json").lines
    assert [(each["version"], each["status"], each["files"], each["owner"]) for each in lines] == [
        (FIRST_S, "current", 1, "test"),
        (SECOND_S, "writing", 1, "test"),
        (late, "incomplete", 0, "archive rerun"),
        (None, "foreign", 0, ""),
    ]
    assert [each["path"] for each in lines[-2:]] == [partition.path(late), "dt=20151210/versionid=1"]
    assert len({tuple(each) for each in lines}) == 1  # all have the same names
    text = ingest("archive", "history", *OF_TABLE)
    assert (text.code, "foreign" in text.out, "3 versions" in text.err) == (0, True, True)


def test_relative_root_starts_at_the_current_folder(ingest, partition, folder, monkeypatch):
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    result = ingest("archive", "history", "-f", "../pipeline.yaml", "customer")
    note = 'no partition at "./archive/customer"; a relative root starts at the current folder'
    assert result.err.splitlines() == [note, "0 versions"]


def test_3c12_point(ingest, partition):
    result = ingest("archive", "point", *OF_TABLE, "--dt", "20151210", "--version", SECOND_S, "--output", "json")
    assert result.json == {"partition": "20151210", "before": FIRST_S, "current": SECOND_S, "sql_changed": None}
    assert partition.current() == SECOND_S
    assert "later micro-batches" not in result.err
    assert ingest("archive", "point", *OF_TABLE, "--dt", "20151210").code == 0
    refused = ingest("archive", "point", *OF_TABLE, "--dt", "20151210", "--version", SECOND_S + 7)
    assert (refused.code, "is no complete version" in refused.err, partition.current()) == (3, True, SECOND_S)


def test_point_at_an_older_version_tells_which_files_readers_lose(ingest, partition):
    partition.write_pointer(SECOND_S)
    os.utime(partition.root._folder / partition.path(SECOND_S, SUCCESS), (SECOND_S, SECOND_S))
    name = PartName(SECOND_S * 1000 + 1, 0, "5f0c9a31", "parquet")
    partition.root.write(partition.path(SECOND_S, str(name)), b"rows")
    result = ingest("archive", "point", *OF_TABLE, "--dt", "20151210", "--version", FIRST_S)
    assert (result.code, partition.current()) == (0, FIRST_S)
    assert "the version before has 1 file of later micro-batches" in result.err


def test_3c11_keep_and_unkeep(ingest, partition):
    assert (
        ingest("admin", "archive", "keep", *OF_TABLE, "--dt", "20151210", "--version", f"version={SECOND_S}").code == 0
    )
    assert partition.version(SECOND_S).is_kept
    path = f"dt=20151210/version={SECOND_S}"
    assert ingest("admin", "archive", "unkeep", *OF_TABLE, "--dt", "20151210", "--version", path).code == 0
    assert not partition.version(SECOND_S).is_kept


def test_3c10_cleanup(ingest, partition):
    switch(partition, SECOND_S, SECOND_S * 1000)
    partition.create(SECOND_S, "failed")
    dry = ingest("admin", "archive", "cleanup", *OF_TABLE, "--dry-run").out.splitlines()
    assert dry == [partition.path(FIRST_S, name) for name in (SUCCESS, "_SUPERSEDED", PART, "_STARTED")]
    options = ("--dt", "20151210", "--older-than", "2d", "--incomplete", "--force")
    hint = ingest("admin", "archive", "cleanup", *OF_TABLE, *options, "--dry-run").err
    assert f"attr2hbase admin archive cleanup {' '.join((*OF_TABLE, *options))}" in hint
    refused = ingest("admin", "archive", "cleanup", *OF_TABLE, "--older-than", "1h")
    assert (refused.code, "--force" in refused.err) == (2, True)
    partition.root.write(f"{partition.folder}/mine.txt", b"")
    foreign = [f"{partition.folder}/mine.txt"]
    summary = {"table": "customer", "versions": 1, "bytes": 4, "kept": {}, "foreign": foreign, "paths": dry}
    told = ingest("admin", "archive", "cleanup", *OF_TABLE, "--dry-run", "--output", "json").json
    assert told == {**summary, "dry_run": True}
    done = ingest(
        *(
            "admin",
            "archive",
            "cleanup",
            *OF_TABLE,
            "--older-than",
            "1h",
            "--force",
            "--dt",
            "20151210",
            "--output",
            "json",
        )
    )
    assert (done.code, done.json) == (0, {**summary, "dry_run": False})
    assert partition.version_ids() == [SECOND_S, SECOND_S + 1]
    now = partition.root._folder.stat().st_mtime - 8 * 86_400
    for entry in partition.root.entries(partition.path(SECOND_S + 1)):
        os.utime(partition.root._folder / partition.path(SECOND_S + 1, entry.name), (now, now))
    assert ingest("admin", "archive", "cleanup", *OF_TABLE, "--incomplete").code == 0
    assert partition.version_ids() == [SECOND_S]


def test_partition_without_a_current_version_is_reported(ingest, partition):
    partition.root.remove_file(f"{partition.folder}/_CURRENT")
    note = f"20151210: no version is current, so readers see no rows; version {SECOND_S} is complete"
    command = f"next: attr2hbase archive point {' '.join(OF_TABLE)} --dt 20151210 --version {SECOND_S}"
    assert ingest("archive", "history", *OF_TABLE).err.splitlines() == [note, "2 versions", command]
    registered = ingest("admin", "archive", "register", *OF_TABLE)
    assert (registered.code, registered.err.splitlines()[0]) == (
        0,
        "1 partition without a current version: 'attr2hbase archive history' names them",
    )


def test_register_refuses_a_column_of_another_type(ingest, partition, folder):
    write_rows(partition, {"amount": [1.5]})
    refused = ingest("admin", "archive", "register", *OF_TABLE)
    assert (refused.code, refused.out) == (4, "")
    assert 'column "amount" is int64 in the file, and float64 in' in refused.err


def test_register_reads_each_pointer_once(ingest, partition, monkeypatch):
    write_rows(partition, {"amount": [1]})
    read: list[str] = []
    before = LocalRoot.read

    def recorded(root: LocalRoot, path: str, *most: int) -> bytes:
        read.append(path)
        return before(root, path, *most)

    monkeypatch.setattr(LocalRoot, "read", recorded)
    assert ingest("admin", "archive", "register", *OF_TABLE).code == 0
    assert read == [f"{partition.folder}/{CURRENT}"]


def test_register_prints_statements_without_a_metastore(ingest, partition, folder):
    write_rows(partition, {"amount": [1]})
    result = ingest("admin", "archive", "register", *OF_TABLE)
    location = f"{folder.as_uri()}/archive/customer"
    columns = "`_topic` string, `_partition` int, `_offset` bigint, `_fan_out` bigint, `_time` timestamp, `user` string"
    path = f"{location}/dt=20151210/version={FIRST_S}"
    create = f"CREATE TABLE IF NOT EXISTS `customer` ({columns}, `amount` bigint, `dt` string) USING parquet"
    assert result.out.splitlines() == [
        f"{create} PARTITIONED BY (`dt`) LOCATION '{location}';",
        f"ALTER TABLE `customer` ADD IF NOT EXISTS PARTITION (`dt` = '20151210') LOCATION '{path}';",
        f"ALTER TABLE `customer` PARTITION (`dt` = '20151210') SET LOCATION '{path}';",
        "REFRESH TABLE `customer`;",
    ]


def test_statements_have_the_folder_as_it_is(ingest, partition, folder, monkeypatch):
    spaced = folder / "a folder"
    spaced.mkdir()
    (spaced / "pipeline.yaml").write_text(FILE)
    monkeypatch.chdir(spaced)
    assert f"LOCATION 'file://{spaced}/archive/customer'" in ingest("admin", "archive", "register", *OF_TABLE).out


def test_join(ingest, partition):
    write_rows(partition, {"amount": [1]})
    add_file(partition)
    result = ingest("archive", "join", *OF_TABLE, "--dt", "20151210", "--output", "json")
    version_id = partition.current()
    assert result.json == {
        "table": "customer",
        "partition": "20151210",
        "version": version_id,
        "before": FIRST_S,
        "rows": 2,
        "files_read": 2,
        "files_written": 1,
    }
    again = ingest("archive", "join", *OF_TABLE, "--dt", "20151210", "--keep", "--output", "json")
    assert again.json == {
        "table": "customer",
        "partition": "20151210",
        "version": version_id,
        "before": version_id,
        "rows": 0,
        "files_read": 1,
        "files_written": 0,
    }
    shown = ingest("archive", "join", *OF_TABLE, "--dt", "20151210")
    assert f"1 file already; nothing to join; version {version_id} is current" in shown.err
    assert (partition.current(), partition.version(version_id).is_kept) == (version_id, True)


def test_interrupted_join_says_what_stays(ingest, partition, monkeypatch):
    write_rows(partition, {"amount": [1]})
    add_file(partition)

    def interrupt(*_arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Partition, "complete", interrupt)
    result = ingest("archive", "join", *OF_TABLE, "--dt", "20151210")
    assert (result.code, partition.current()) == (130, FIRST_S)
    assert "interrupted; the older version stays current, unless the new one is already; run the same " in result.err


def test_rerun_with_another_type_than_the_newest_other_partition(ingest, partition):
    root = partition.root
    root.make_folder(WRITERS)
    root.write(f"{WRITERS}/other.json", b"")  # refuses the re-run after the types
    to_be_written = ("rerun", *OF_TABLE, "--dt", "20151211")
    assert 'the writer "other"' in ingest("archive", *to_be_written).err  # a damaged file has no types
    write_rows(partition, {"amount": [1.5]})
    refused = ingest("archive", *to_be_written)
    assert refused.code == 4
    assert 'column "amount" is int64 in the file, and float64 in "dt=20151210/' in refused.err
    assert "--force writes the partition nevertheless" in refused.err
    assert 'the writer "other"' in ingest("archive", *to_be_written, "--force").err
    assert 'the writer "other"' in ingest("archive", "rerun", *OF_TABLE, "--dt", "20151210").err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("history", "other"), 3, "it archives customer"),
        (("history", *OF_TABLE, "--dt", "20200101"), 3, "has no partition dt=20200101"),
        (("keep", *OF_TABLE, "--dt", "20151210", "--version", "1449784000"), 3, "has no version"),
        (
            ("keep", *OF_TABLE, "--dt", "20151210", "--version", "123"),
            3,
            "there is no version 123\n  hint: 'attr2hbase archive h",
        ),
        (("point", *OF_TABLE, "--dt", "20151210", "--version", "version=123"), 3, "there is no version 123\n"),
        (
            ("point", *OF_TABLE, "--dt", "20151210", "--version", "9" * 9),
            3,
            "is no complete version\n  hint: 'attr2hbase",
        ),
        (("unkeep", *OF_TABLE, "--dt", "20151210", "--version", "x"), 2, "is no version"),
        (
            ("point", *OF_TABLE, "--dt", "20151210", "--version", f"dt=20151209/version={SECOND_S}"),
            2,
            "is no version of the partition dt=20151210",
        ),
        (("rerun", *OF_TABLE, "--dt", "2015-12-10"), 2, "write it as in 20151210"),
        (
            (
                *("rerun", *OF_TABLE, "--dt", "20151210"),
                *("--from", "2026-01-01", "--to", "x", "--keep", "--exclusive"),
            ),
            2,
            "is not a time",
        ),
        (("join", *OF_TABLE, "--dt", "20200101"), 3, "has no partition dt=20200101"),
        *(
            ((name, *OF_TABLE, "--dt", "2015-12-10", *options), 2, "write it as in 20151210")
            for name, *options in (
                ["history"],
                ["join"],
                ["cleanup"],
                ["point"],
                ["keep", "--version", f"{FIRST_S}"],
                ["unkeep", "--version", f"{FIRST_S}"],
            )
        ),
        (("join", *OF_TABLE, "--dt", "20151210", "--keep", "--exclusive"), 5, "is damaged"),
    ],
)
def test_refusals(ingest, partition, arguments, code, message):
    if "join" in arguments:
        add_file(partition)
    is_of_admin = arguments[0] in {"cleanup", "keep", "unkeep"}
    result = ingest(*["admin"] * is_of_admin, "archive", *arguments)
    assert (result.code, message in result.err) == (code, True)
