"""`attr2hbase admin keys analyse`."""

import json
import random

import pytest

from ingest.api import FamilySpec, StoredRegion, TableSpec
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore

FILE = """
version: 1
stores: {logs: {memory: {}}}
tables: {t: {families: {f: {}}, splits: [%s]}}
pipelines:
  p:
    source: {files: {path: ./in}}
    decorators:
      - filter: {drop: "%%{body} == 'drop'"}
      - value: {attribute: "2hb_", value: "%%{body}"}
      - value: {attribute: "2hb_f:q", value: v}
    sinks: [{attr2hbase: {table: t}}]
"""
KAFKA = """
version: 1
stores: {logs: {memory: {}}}
pipelines:
  p:
    source: {kafka: {brokers: "127.0.0.1:1", topics: [a]}}
    decorators: [{value: {attribute: "2hb_", value: "%{key}"}}]
    sinks: [{attr2hbase: {table: t}}]
"""
INCREASING = [f"row-{number:06d}" for number in range(1_000)]
MIXED = random.Random(3).sample(INCREASING, len(INCREASING))
ANALYSE = ("admin", "keys", "analyse", "-f", "p.yaml")


@pytest.fixture
def write(folder):
    """Write the pipeline file, and one line for each key."""

    def written(keys, splits=""):
        (folder / "p.yaml").write_text(FILE % splits)
        (folder / "rows.log").write_text("".join(f"{key}\n" for key in keys))
        (folder / "rows.jsonl").write_text("".join(json.dumps({"body": key}) + "\n" for key in keys))

    return written


def test_text_shows_layouts_prefixes_and_split_points(ingest, write):
    write([f"{user}-{number}" for number in range(100) for user in ("anna", "ben")])
    result = ingest(*ANALYSE, "--lines", "rows.log", "--regions", 2)
    assert result.code == 0
    assert result.out.splitlines()[0] == "logs/t 200 writes to 200 rows; row keys have 5 to 7 bytes, median 6"
    shown = [line.split() for line in result.out.splitlines()]
    assert ["one", "region", "1", "0", "100.0%", "100.0%"] in shown
    assert ["even", "split", "points", "2", "0", "50.0%", "50.0%"] in shown
    assert ["salted,", "16", "buckets"] in [words[:3] for words in shown]
    assert ["anna-", "100", "50.0%", "100", "1"] in shown
    assert result.out.endswith('recommended split points: tables: {t: {splits: ["b"]}}\n')
    assert result.err == "200 kept\nnext: attr2hbase table plan -f p.yaml\n"


def test_salted_table_has_no_even_split_points(ingest, folder, write):
    write(MIXED)
    file = folder / "p.yaml"
    file.write_text(file.read_text().replace("splits: []", "distribute: {hash: 16}"))
    shown = ingest(*ANALYSE, "--lines", "rows.log", "--regions", 4).out
    layouts = [line[:35].strip() for line in shown.splitlines()[3:8]]
    assert layouts[0].startswith("as declared: salted, 16 buckets")
    assert [name.split("  ")[0] for name in layouts[1:4]] == [f"salted, {number} buckets" for number in (8, 16, 32)]
    assert "even" not in shown


def test_increasing_keys_are_warned_of(ingest, write):
    write(INCREASING)
    result = ingest(*ANALYSE, "--lines", "rows.log")
    assert result.code == 0
    assert 'warning: table "t": of 8 ranges of row keys' in result.err
    assert "or salt the table: tables: {t: {distribute: {hash: 16}}}\n" in result.err
    assert "recommended split points:" not in result.out


def test_regions_of_the_file_are_shown_busiest_first(ingest, write):
    write(MIXED, splits="row-0001, row-0009, x")
    shown = [line.split() for line in ingest(*ANALYSE, "--lines", "rows.log").out.splitlines()]
    assert [words[:3] for words in shown if len(words) == 4 and words[2].isdigit()] == [
        ["row-0001", "row-0009", "800"],
        ["(start)", "row-0001", "100"],
        ["row-0009", "x", "100"],
        ["x", "(end)", "0"],
    ]


def test_many_regions_are_cut(ingest, write):
    write(MIXED, splits=", ".join(f"row-0{number:02d}" for number in range(12)))
    assert "and 3 regions with fewer writes\n" in ingest(*ANALYSE, "--lines", "rows.log").out


def test_json_has_the_same_facts(ingest, write):
    write(MIXED, splits="row-0005")
    found = ingest(*ANALYSE, "--events", "rows.jsonl", "--output", "json").json
    assert found["events"] == {"kept": 1_000}
    (table,) = found["tables"]
    assert {name: table[name] for name in ("store", "table", "writes", "rows", "key_bytes")} == {
        "store": "logs",
        "table": "t",
        "writes": 1_000,
        "rows": 1_000,
        "key_bytes": {"shortest": 10, "median": 10, "longest": 10},
    }
    current = table["current"]
    assert (current["from"], current["splits"], current["writes"]) == ("file", ["row-0005"], [500, 500])
    assert (current["regions"], current["without_writes"], current["busiest"]) == (2, 0, 0.5)
    assert sum(current["newest"]) == 100
    assert [salted["buckets"] for salted in table["salted"]] == [8, 16, 32]
    assert table["recommended_splits"] == table["even"]["splits"]
    assert table["even"]["writes"] == [125] * 8
    assert {"prefix": "row-000", "writes": 1_000, "rows": 1_000, "regions": 2} in table["prefixes"]
    assert table["warnings"] == []


def test_warnings_are_in_the_json(ingest, write):
    write(INCREASING)
    (table,) = ingest(*ANALYSE, "--lines", "rows.log", "--output", "json").json["tables"]
    assert [warning["kind"] for warning in table["warnings"]] == ["increasing_keys"]


def test_rows_of_a_prefix(ingest, write):
    write(MIXED)
    (table,) = ingest(*ANALYSE, "--lines", "rows.log", "--prefix", r"row-\x30001", "--output", "json").json["tables"]
    assert table["prefixes"][0] == {"prefix": "row-0001", "writes": 100, "rows": 100, "regions": 1}


def test_files_of_the_source_are_the_default(ingest, folder, write):
    write(INCREASING)
    (folder / "in").mkdir()
    (folder / "in" / "a.log").write_text("k1\ndrop\nk2\n")
    found = ingest(*ANALYSE, "--output", "json").json
    assert found["events"] == {"kept": 2, "dropped": 1}
    assert found["tables"][0]["rows"] == 2


def test_failures_are_counted_by_error(ingest, folder, write):
    write(["a", "b"])
    text = (folder / "p.yaml").read_text()
    (folder / "p.yaml").write_text(text.replace("decorators:\n", "decorators:\n      - json\n"))
    result = ingest(*ANALYSE, "--lines", "rows.log")
    assert (result.code, "failed: json: bad_json 2\n2 failed\n" in result.err) == (0, True), result.err


def test_no_rows(ingest, write):
    write(["drop"])
    result = ingest(*ANALYSE, "--lines", "rows.log")
    assert (result.code, result.out) == (0, "")
    assert result.err == "no event is written to a table\n1 dropped\nnext: attr2hbase explain -f p.yaml\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "there are no events to analyse"),
        (("--events", "e", "--lines", "e"), "--events and --lines were both given"),
        (("--topic", 5, "--lines", "e"), "--lines and --topic were both given"),
        (("--at", "2026-01-31", "--lines", "e"), "--at needs --topic"),
    ],
)
def test_events_must_come_from_one_place(ingest, folder, options, message):
    (folder / "p.yaml").write_text(KAFKA)
    result = ingest(*ANALYSE, *options)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"error[config]: {message}\n")


def test_source_without_topics(ingest, write):
    write([])
    result = ingest(*ANALYSE, "--topic", 5)
    assert result.code == 2
    assert 'the source of pipeline "p" is files, which has no topics' in result.err


def test_pipeline_must_be_named_if_there_are_several(ingest, folder, write):
    write(MIXED)
    text = (folder / "p.yaml").read_text()
    (folder / "p.yaml").write_text(text + text.partition("pipelines:\n")[2].replace("  p:", "  q:"))
    assert ingest(*ANALYSE, "--lines", "rows.log").code == 2
    assert ingest(*ANALYSE, "--lines", "rows.log", "--pipeline", "q").code == 0


class TestConnect:
    @pytest.fixture(autouse=True)
    def _file(self, folder, write):
        write(MIXED, splits="row-0005")
        text = (folder / "p.yaml").read_text()
        (folder / "p.yaml").write_text(text.replace("memory: {}", "rocksdb: {path: ./data}"))

    def current(self, ingest, *options):
        result = ingest(*ANALYSE, "--lines", "rows.log", "--output", "json", *options)
        assert result.code == 0, result.err
        current = result.json["tables"][0]["current"]
        return current["from"], current["regions"]

    def test_regions_of_an_existing_table_are_those_of_the_store(self, ingest):
        store = RocksDBStore(RocksDBSettings(path="./data"))
        store.open()
        store.ensure_table(TableSpec("t", (FamilySpec(b"f"),)))
        store.close()
        assert self.current(ingest, "--connect") == ("store", 1)
        assert self.current(ingest) == ("file", 2)

    def test_table_that_does_not_exist_has_those_of_the_file(self, ingest):
        assert self.current(ingest, "--connect") == ("file", 2)

    def test_servers_and_sizes_of_regions_are_shown_if_the_store_reports_them(self, ingest, monkeypatch):
        spec = TableSpec("t", (FamilySpec(b"f"),), splits=(b"row-0005",))
        store = RocksDBStore(RocksDBSettings(path="./data"))
        store.open()
        store.ensure_table(spec)
        store.close()
        regions = (StoredRegion(b"", "rs1:16020", 3 << 20, 1 << 20), StoredRegion(b"row-0005", "rs2:16020", 5 << 30, 0))
        monkeypatch.setattr(RocksDBStore, "describe_table", lambda _store, _table: spec)
        monkeypatch.setattr(RocksDBStore, "regions", lambda _store, _table: regions)
        result = ingest(*ANALYSE, "--lines", "rows.log", "--connect")
        assert " ".join(result.out.split()).count("4.00 MiB rs1:16020") == 1, result.out
        assert " ".join(result.out.split()).count("5.00 GiB rs2:16020") == 1, result.out
        result = ingest(*ANALYSE, "--lines", "rows.log", "--connect", "--output", "json")
        assert result.json["tables"][0]["stored_regions"] == [
            {"start": "", "server": "rs1:16020", "file_bytes": 3 << 20, "memory_bytes": 1 << 20},
            {"start": "row-0005", "server": "rs2:16020", "file_bytes": 5 << 30, "memory_bytes": 0},
        ]
