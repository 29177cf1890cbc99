"""`scan`, `get` and `table`, on an embedded store."""

import pytest

from ingest.api import FamilySpec, Put, TableSpec
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from sinks.rowkeys.distribution import Distribution
from tests.support.endpoint import published

ROWS = [b"a1", b"a2", b"b1", b"\xff\x00"]


@pytest.fixture
def store(pipeline):
    """An open store, as in a running service."""
    store = RocksDBStore(RocksDBSettings(path="./data"))
    store.open()
    store.ensure_table(TableSpec("mytable", (FamilySpec(b"cf", versions=2), FamilySpec(b"other"))))
    for time_ms in (1000, 2000):
        values = {b"cf:q": b"v%d" % time_ms, b"cf:\xff": b"\x00", b"other:": "Köln".encode()}
        store.apply("mytable", [Put(row, dict(values), time_ms) for row in ROWS])
    yield store
    store.close()


def keys(result):
    assert result.code == 0, result.err
    return [row["row"] for row in result.lines]


SCAN = ("scan", "mytable", "--output", "json")
LAST = {"b64": "/wA="}


class TestScan:
    @pytest.mark.parametrize(
        ("file", "hint"), [("pipelin.yaml", 'did you mean "pipeline.yaml"?'), ("x/y.yaml", "'attr2hbase init' writes")]
    )
    def test_missing_file_has_a_hint(self, ingest, store, file: str, hint: str):
        result = ingest("scan", "-f", file, "mytable")
        assert (result.code, hint in result.err) == (3, True)

    def test_rows_as_json(self, ingest, store):
        lines = ingest(*SCAN, "--limit", 1).lines
        assert lines == [
            {
                "row": "a1",
                "cells": [
                    ["cf", "q", 2000, "v2000"],
                    ["cf", {"b64": "/w=="}, 2000, "\x00"],
                    ["other", "", 2000, "Köln"],
                ],
            }
        ]

    @pytest.mark.parametrize(
        ("table", "hint"),
        [("mytabel", 'did you mean "mytable"?'), ("x", "there is mytable")],
        ids=["typo", "another-name"],
    )
    def test_unknown_table_is_reported_with_a_hint(self, ingest, store, table: str, hint: str):
        result = ingest("scan", table)
        assert (result.code, result.out) == (3, "")
        assert f'there is no table "{table}"' in result.err
        assert hint in result.err

    def test_rows_as_text(self, ingest, store):
        result = ingest("scan", "mytable", "--prefix", "\\xff")
        assert result.out == (
            "\\xFF\\x00  1970-01-01T00:00:02.000Z\n"  # which all cells share
            "  cf:q     v2000\n"
            "  cf:\\xFF  \\x00\n"
            "  other:   Köln\n"
        )
        assert result.err == "1 row\nnext: attr2hbase get mytable ROW\n"

    @pytest.mark.parametrize(
        ("options", "expected"),
        [
            ([], ["a1", "a2", "b1", LAST]),
            (["--prefix", "a"], ["a1", "a2"]),
            (["--start", "a2"], ["a2", "b1", LAST]),
            (["--stop", "b1"], ["a1", "a2"]),
            (["--start", "\\xff"], [LAST]),
            (["--limit", "2"], ["a1", "a2"]),
            (["--reverse"], [LAST, "b1", "a2", "a1"]),
            (["--prefix", "a", "--reverse", "--limit", "1"], ["a2"]),
            (["--columns", "cf:absent"], []),
            (["--fuzzy", "?1"], ["a1", "b1"]),
            (["--fuzzy", "?1", "--reverse"], ["b1", "a1"]),
            (["--fuzzy", "?1", "--fuzzy", "a"], ["a1", "a2", "b1"]),
            (["--fuzzy", "\\xff?"], [LAST]),
            (["--fuzzy", "?1", "--prefix", "b"], ["b1"]),
            (["--fuzzy", "\\x3f1"], []),
            (["--after", "a2"], ["b1", LAST]),
            (["--after", "a2", "--start", "a1", "--limit", "1"], ["b1"]),
            (["--after", "a2", "--start", "\\xff"], [LAST]),
            (["--after", "b1", "--reverse"], ["a2", "a1"]),
            (["--after", "b1", "--reverse", "--stop", "a2"], ["a1"]),
            (["--after", "a1", "--fuzzy", "?1"], ["b1"]),
        ],
        ids=str,
    )
    def test_options_select_rows(self, ingest, store, options, expected):
        assert keys(ingest(*SCAN, *options)) == expected

    @pytest.mark.parametrize(
        ("options", "summary"),
        [
            (["--limit", "1"], "1 row shown; more exist"),
            (["--limit", "4"], "4 rows"),
            (["--prefix", "a", "--limit", "2"], "2 rows"),
            (["--reverse", "--limit", "3"], "3 rows shown; more exist"),
        ],
        ids=str,
    )
    def test_summary_says_whether_more_rows_exist(self, ingest, store, options, summary):
        result = ingest("scan", "mytable", *options)
        assert result.err.splitlines()[0] == summary

    @pytest.mark.parametrize(
        "options",
        [
            ["--prefix", "zz"],
            ["--start", "\\xff\\xff"],
            ["--fuzzy", "?9"],
            ["--after", "\\xff\\x00"],
            ["--from", "1970-01-01T00:00:02.001Z"],
        ],
        ids=str,
    )
    def test_no_matching_row(self, ingest, store, options):
        result = ingest("scan", "mytable", *options)
        unknown = "no row has the column cf:absent\n" if "--columns" in options else ""
        assert (result.code, result.out, result.err) == (0, "", f"{unknown}no row matches\n")

    def test_column_that_no_row_has(self, ingest, store):
        result = ingest("scan", "mytable", "--columns", "cf:absent")
        assert result.err == "no row has the column cf:absent\nno row matches\n"

    @pytest.mark.parametrize("options", [("--start", "b", "--stop", "a"), ("--prefix", "a", "--start", "b")])
    def test_options_that_exclude_each_other_are_named(self, ingest, store, options: tuple[str, ...]):
        result = ingest("scan", "mytable", *options)
        assert (result.code, result.err) == (
            0,
            "no row matches: no row key is within all of --prefix, --start, --stop and --after\n",
        )

    @pytest.mark.parametrize(
        "options", [["--columns", "cf:q,other"], ["--columns", "cf:q", "--columns", "other:"]], ids=str
    )
    def test_options_select_columns(self, ingest, store, options):
        cells = ingest(*SCAN, "--limit", 1, *options).json["cells"]
        assert [cell[:2] for cell in cells] == [["cf", "q"], ["other", ""]]

    @pytest.mark.parametrize(
        ("columns", "message"),
        [
            (
                "q",
                """there is no family "q" in table "mytable"
  hint: write FAMILY:QUALIFIER, or a whole FAMILY; there is cf, other
""",
            ),
            ("cf:q,othr:", 'there is no family "othr" in table "mytable"\n  hint: did you mean "other"?\n'),
            ("x:q", 'there is no family "x" in table "mytable"\n  hint: there is cf, other\n'),
        ],
        ids=["no-colon", "typo", "another-name"],
    )
    @pytest.mark.parametrize("command", [["scan"], ["get", "a1"]], ids=["scan", "get"])
    def test_unknown_family_is_reported_with_a_hint(self, ingest, store, command, columns, message):
        name, *row = command
        result = ingest(name, "mytable", *row, "--columns", columns)
        assert (result.code, result.out, result.err) == (3, "", f"error[not_found]: {message}")

    def test_escaped_column_is_selected(self, ingest, store):
        assert len(ingest(*SCAN, "--limit", 1, "--columns", "cf:\\xff").json["cells"]) == 1

    def test_older_versions_are_included(self, ingest, store):
        cells = ingest(*SCAN, "--limit", 1, "--columns", "cf:q", "--versions", 2).json["cells"]
        assert [cell[2] for cell in cells] == [2000, 1000]

    @pytest.mark.parametrize(
        ("options", "times_ms"),
        [
            (["--from", "1970-01-01T00:00:02Z"], [2000]),
            (["--to", "1970-01-01T00:00:02Z"], [1000]),
            (["--from", "1969-12-31", "--to", "1970-01-01T00:00:02.001Z"], [2000, 1000]),
            (["--from", "1970-01-01T01:00:01+01:00", "--to", "1970-01-01T00:00:02", "--reverse"], [1000]),
        ],
        ids=str,
    )
    def test_time_range_selects_cells(self, ingest, store, options, times_ms):
        rows = ingest(*SCAN, "--limit", 1, "--columns", "cf:q", "--versions", 2, *options).lines
        assert [[cell[2] for cell in row["cells"]] for row in rows] == [times_ms]

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--from", "now"], '"now" is not a time'),
            (
                ["--from", "2026-01-31", "--to", "2026-01-31"],
                '--to "2026-01-31" is not later than --from "2026-01-31"\n  hint: the range includes --from and',
            ),
            (["--to", "1970-01-01"], '--to "1970-01-01" is not later than 1970, and no timestamp of a cell is earlier'),
        ],
        ids=["no time", "equal", "before all cells"],
    )
    @pytest.mark.parametrize("command", [["scan"], ["get", "a1"]], ids=["scan", "get"])
    def test_mistakes_in_a_time_range_are_reported(self, ingest, store, command, options, message):
        name, *row = command
        result = ingest(name, "mytable", *row, *options)
        assert (result.code, result.out, message in result.err) == (2, "", True)

    def test_counts_are_the_last_line_of_json(self, ingest, store):
        *rows, last = ingest(*SCAN, "--fuzzy", "?2", "--columns", "cf:q", "--stats").lines
        assert [row["row"] for row in rows] == ["a2"]
        # it starts at \x002, reads a1, seeks a2, reads b1, seeks b2, reads \xff\x00, and seeks \xff2
        counts = {"seeks": 4, "rows_touched": 4, "rows_read_ahead": 0, "rows_in_fallback": 0, "bytes_read": 17}
        assert last == {"stats": {**counts, "views": 1, "lossy_filters": 0}}

    def test_counts_are_a_line_of_stderr(self, ingest, store):
        result = ingest("scan", "mytable", "--fuzzy", "a1", "--columns", "cf:q", "--stats")
        assert result.err.splitlines()[:2] == ["2 rows touched, 1 seek, 13 bytes read", "1 row"]
        assert ingest("scan", "mytable", "--prefix", "zz", "--stats").err == (
            "0 rows touched, 1 seek, 0 bytes read\nno row matches\n"
        )

    def test_unknown_table_exits_with_3(self, ingest, store):
        result = ingest("scan", "absent")
        assert (result.code, result.out) == (3, "")

    def test_missing_store_exits_with_3(self, ingest, pipeline):
        assert ingest("scan", "mytable").code == 3


class TestGet:
    def test_row_is_shown_with_the_selected_cells(self, ingest, store):
        result = ingest("get", "mytable", "\\xff\\x00", "--columns", "cf:q", "--versions", "3")
        assert result.code == 0
        assert result.out == (
            "\\xFF\\x00\n  cf:q  1970-01-01T00:00:02.000Z  v2000\n  cf:q  1970-01-01T00:00:01.000Z  v1000\n"
        )

    def test_row_has_the_cells_of_the_time_range(self, ingest, store):
        get = ("get", "mytable", "a1", "--columns", "cf:q", "--versions", "3")
        times = ("--from", "1970-01-01T00:00:01Z", "--to", "1970-01-01T00:00:02Z")
        assert ingest(*get, *times).out == "a1  1970-01-01T00:00:01.000Z\n  cf:q  v1000\n"
        result = ingest(*get, "--from", "1970-01-02")
        assert (result.code, result.out) == (3, "")
        assert 'no row "a1" in table "mytable" has a cell in the time range and these columns\n' in result.err

    def test_missing_row_is_reported(self, ingest, store):
        result = ingest("get", "mytable", "a3")
        assert (result.code, result.out) == (3, "")
        assert 'no row "a3" in table "mytable"' in result.err

    def test_key_with_its_bucket_has_a_hint(self, ingest, store):
        store.ensure_table(TableSpec("salted", (FamilySpec(b"cf"),), buckets=16))
        stored = Distribution(16).physical(b"row")
        store.apply("salted", [Put(stored, {b"cf:q": b"1"}, 1000)])
        assert ingest("get", "salted", "row").code == 0
        refused = ingest("get", "salted", f"\\x{stored[0]:02x}row")
        assert (refused.code, "write the row key without the bucket: row\n" in refused.err) == (3, True)
        assert "without the bucket" not in ingest("get", "salted", "other").err


STORES = """
version: 1
stores:
  one: {rocksdb: {path: ./one}}
  two: {rocksdb: {path: ./two}}
tables:
  declared: {store: two, families: {b: {}, a: {versions: 3}}}
pipelines:
  p:
    source: {files: {path: ./in}}
    decorators: [{value: {attribute: "2hb_", value: "%{topic}%{offset}"}}]
    sinks: [{attr2hbase: {store: one, table: written}}]
"""


DECLARED = """
tables:
  mytable:
    families: {cf: {versions: 3, ttl: 30d}, other: {compression: zstd, bloom: rowcol}}
    splits: ["m"]
"""
PLAN = ("table", "plan", "p.yaml")
APPLY = ("table", "apply", "p.yaml")
JSON = ("--output", "json")


def what(rows):
    return [(row["family"], row["what"], row["declared"], row["found"]) for row in rows]


@pytest.fixture
def declare(pipeline):
    """Write p.yaml: the pipeline of `init` with declared tables."""

    def write(tables: str = DECLARED) -> None:
        (pipeline / "p.yaml").write_text((pipeline / "pipeline.yaml").read_text() + tables)

    return write


class TestTablePlan:
    def test_store_that_does_not_exist_yet(self, ingest, declare):
        declare()
        result = ingest(*PLAN)
        assert result.code == 4
        assert "families cf, other; splits m" in result.out
        assert result.err == "1 difference\nnext: attr2hbase table apply -f p.yaml\n"

    def test_drift_of_options_beside_a_running_service(self, ingest, declare, store):
        declare()
        result = ingest(*PLAN, *JSON)
        assert (result.code, result.json["drift"]) == (4, True)
        assert what(result.json["differences"]) == [
            ("cf", "versions", 3, 2),
            ("cf", "ttl", 30 * 86_400, None),
            ("other", "compression", "zstd", "none"),
            ("other", "bloom", "rowcol", "row"),
            (None, "splits", ["m"], []),
        ]
        applies = [row["apply"] for row in result.json["differences"]]
        assert applies == ["change", "data_loss", "change", "change", "nothing"]
        text = ingest(*PLAN).out.splitlines()
        assert [line.split() for line in text[2:4]] == [
            ["mytable", "logs", "cf", "versions", "3", "2", "changes", "it"],
            ["mytable", "logs", "cf", "ttl", "30d", "for", "ever", "only", "with", "--allow-data-loss"],
        ]

    def test_undeclared_family_does_not_count_as_drift(self, ingest, declare, store):
        declare("tables: {mytable: {families: {cf: {versions: 2}}}}")
        result = ingest(*PLAN, *JSON)
        assert (result.code, result.json["drift"]) == (0, False)
        assert [(row["family"], row["what"]) for row in result.json["differences"]] == [("other", "undeclared")]
        assert ingest(*PLAN).err == "all tables are as declared\n"

    def test_file_without_tables_has_nothing_to_do(self, ingest, declare):
        declare("")
        result = ingest(*PLAN)
        assert (result.code, result.err) == (0, 'nothing to do: "p.yaml" declares no tables\n')


class TestTableApply:
    def test_missing_tables_and_families_are_created(self, ingest, folder):
        (folder / "p.yaml").write_text(STORES)
        first = ingest(*APPLY, *JSON)
        assert (first.code, first.json["left"], first.json["commands"]) == (0, [], [])
        assert [(row["table"], row["store"], row["what"]) for row in first.json["done"]] == [
            ("declared", "two", "table")
        ]
        (folder / "p.yaml").write_text(STORES.replace("{b: {}", "{c: {}, b: {}"))
        assert [(row["family"], row["what"]) for row in ingest(*APPLY, *JSON).json["done"]] == [("c", "family")]
        (folder / "p.yaml").write_text(STORES.replace("{b: {}", "{d: {}, b: {}"))
        assert ingest(*APPLY).err.endswith("next: attr2hbase run -f p.yaml\n")
        (folder / "p.yaml").write_text(STORES.replace("{b: {}", "{e: {}, b: {}"))
        (folder / "data/state").mkdir(parents=True, exist_ok=True)
        with published(folder / "data/state", "http://127.0.0.1:9"):
            assert ingest(*APPLY).err.endswith("next: attr2hbase reload -f p.yaml\n")
        again = ingest(*APPLY)
        assert (again.code, again.out, again.err) == (0, "", "all tables are as declared\n")
        assert ingest(*PLAN).code == 0

    def test_changes_that_delete_cells_need_the_option(self, ingest, declare, store):
        store.close()
        declare()
        result = ingest(*APPLY, *JSON)
        assert result.code == 4
        assert [(row["family"], row["what"]) for row in result.json["done"]] == [
            ("cf", "versions"),
            ("other", "compression"),
            ("other", "bloom"),
        ]
        assert what(result.json["left"]) == [("cf", "ttl", 30 * 86_400, None)]
        result = ingest(*APPLY)
        assert (result.code, "next: attr2hbase table apply -f p.yaml --allow-data-loss" in result.err) == (4, True)
        assert len(keys(ingest(*SCAN))) == 4
        allowed = ingest(*APPLY, "--allow-data-loss")
        assert (allowed.code, "1 difference applied, as read back" in allowed.err) == (0, True)
        assert [line.split()[2:4] for line in allowed.out.splitlines()[2:]] == [["cf", "ttl"]]
        # these cells are of 1970
        assert len(ingest(*SCAN, "--columns", "cf").lines) == 0
        assert len(ingest(*SCAN, "--columns", "other").lines) == 4

    def test_file_without_tables_has_nothing_to_do(self, ingest, pipeline):
        result = ingest("table", "apply", "pipeline.yaml")
        assert (result.code, result.err) == (0, 'nothing to do: "pipeline.yaml" declares no tables\n')

    def test_store_in_use_exits_with_4(self, ingest, declare, store):
        declare("tables: {mytable: {families: {cf: {}}}}")
        result = ingest(*APPLY)
        assert (result.code, "is held by process" in result.err) == (4, True)
        assert "stop that process, or wait for its end, then run this command again" in result.err


HASHED = "com.sematext.hbase.wd.RowKeyDistributorByHashPrefix$OneByteSimpleHash--16"
SALTED = "tables: {mytable: {families: {cf: {versions: 2}, other: {}}, distribute: {hash: 16}}}"
OTHER_SALTED = """
tables:
  mytable: {families: {cf: {versions: 2}, other: {}}}
  other: {families: {cf: {}}, distribute: {hash: 16}}
"""


class TestTableOfHBaseWD:
    def test_parameters_are_shown_as_an_option(self, ingest, declare, store):
        declare("tables: {mytable: {families: {cf: {versions: 2}, other: {}}}}")
        result = ingest(*PLAN, "--from-hbasewd", HASHED)
        assert (result.code, result.out) == (0, "distribute: {hash: 16}\n")
        assert ingest(*PLAN, "--from-hbasewd", HASHED, *JSON).json == {
            "drift": False,
            "differences": [],
            "distribute": {"hash": 16},
        }

    @pytest.mark.parametrize(
        ("params", "message"),
        [
            ("12", "are the parameters of HBaseWD's round-robin distributor"),
            ("OneByteSimpleHash--62", "62 buckets are a multiple of 31"),
            ("MD5--16", 'unknown hash "MD5"'),
        ],
    )
    def test_unsupported_parameters_are_refused(self, ingest, declare, params, message):
        declare()
        result = ingest(*PLAN, "--from-hbasewd", params)
        assert (result.code, result.out) == (2, "")
        assert message in result.err

    def test_table_with_rows_is_adopted(self, ingest, declare, store):
        logicals = [b"row-%03d" % number for number in range(300)]
        store.ensure_table(TableSpec("other", (FamilySpec(b"cf"),)))
        store.apply("other", [Put(Distribution(16).physical(row), {b"cf:q": row}, 1000) for row in logicals])
        store.close()
        declare(OTHER_SALTED)
        refused = ingest(*APPLY)
        assert (refused.code, "run 'attr2hbase table apply --adopt TABLE'" in refused.err) == (4, True)
        adopted = ingest(*APPLY, "--adopt", "other", *JSON)
        assert (adopted.code, what(adopted.json["done"])) == (0, [(None, "distribute", 16, None)])
        scanned = ingest("scan", "-f", "p.yaml", "other", *JSON).lines
        assert [(row["row"], row["cells"][0][3]) for row in scanned] == [(row.decode(),) * 2 for row in logicals]
        assert ingest(*APPLY, "--adopt", "other").err == "all tables are as declared\n"

    def test_other_buckets_of_a_table_with_rows_are_no_change_to_apply(self, ingest, declare, store):
        store.ensure_table(TableSpec("other", (FamilySpec(b"cf"),), buckets=8))
        store.apply("other", [Put(Distribution(8).physical(b"row"), {b"cf:q": b"1"}, 1000)])
        store.close()
        declare(OTHER_SALTED)
        planned = ingest(*PLAN)
        assert (planned.code, "next: " in planned.err, "copy the rows into a new table" in planned.err) == (
            4,
            False,
            True,
        )
        assert [row["apply"] for row in ingest(*PLAN, *JSON).json["differences"]] == ["new_table"]
        applied = ingest(*APPLY, "--adopt", "other")
        assert applied.code == 4
        assert 'table "other" is not adopted: its buckets are already recorded (hash 8)' in applied.err

    def test_table_with_another_row_is_not_adopted(self, ingest, declare, store):
        store.close()
        declare(SALTED)
        result = ingest(*APPLY, "--adopt", "mytable")
        assert result.code == 4
        assert 'table "mytable" has the row key "a1"' in result.err
        assert ingest("scan", "-f", "p.yaml", "mytable", *JSON).lines[0]["row"] == "a1"

    @pytest.mark.parametrize(
        ("table", "code", "hint"), [("mytabel", 3, 'did you mean "mytable"?'), ("mytable", 2, "--from-hbasewd TEXT")]
    )
    def test_adopted_table_is_declared_with_its_buckets(self, ingest, declare, table, code, hint):
        declare()
        result = ingest(*APPLY, "--adopt", table)
        assert (result.code, result.out, hint in result.err) == (code, "", True)


class TestRowsOutsideTheBuckets:
    @pytest.fixture
    def table(self, declare, store):
        """A salted table with one row of its own, and one that another program wrote."""
        store.ensure_table(TableSpec("other", (FamilySpec(b"cf"),), buckets=16))
        store.apply("other", [Put(row, {b"cf:q": b"v"}, 1000) for row in (Distribution(16).physical(b"a"), b"java-1")])
        store.close()
        declare(OTHER_SALTED)
        return "other"

    def test_difference_names_a_row(self, ingest, table):
        planned = ingest(*PLAN, *JSON)
        assert (planned.code, planned.json["differences"][-1]) == (
            4,
            {
                "table": table,
                "store": "logs",
                "family": None,
                "what": "misplaced",
                "declared": 16,
                "found": "java-1",
                "apply": "new_table",
            },
        )
        shown = ingest(*PLAN).out
        assert ("row in no bucket" in shown, "copy the rows into a new table" in shown) == (True, True)
        assert [row["what"] for row in ingest(*APPLY, *JSON).json["left"]] == ["misplaced"]

    @pytest.mark.parametrize("command", [("scan",), ("get", "a")])
    def test_reads_warn(self, ingest, table, command):
        name, *row = command
        result = ingest(name, "-f", "p.yaml", table, *row, *JSON)
        assert (result.code, [each["row"] for each in result.lines]) == (0, ["a"])
        assert 'in none of its 16 buckets and are not found, first "java-1"' in result.err


class TestWhichStore:
    def test_table_of_the_file_is_found_without_a_store_name(self, ingest, folder):
        (folder / "p.yaml").write_text(STORES)
        ingest("table", "apply", "p.yaml")
        assert ingest("scan", "-f", "p.yaml", "declared").code == 0

    def test_written_by_a_sink(self, ingest, folder):
        (folder / "p.yaml").write_text(STORES)
        result = ingest("scan", "-f", "p.yaml", "written")
        assert (result.code, '/one"' in result.err) == (3, True)

    def test_ambiguous_store_is_an_error(self, ingest, folder):
        (folder / "p.yaml").write_text(STORES)
        result = ingest("scan", "-f", "p.yaml", "unknown")
        assert (result.code, "tables: {unknown: {store: NAME}}" in result.err) == (2, True)
