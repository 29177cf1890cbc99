"""Tables in files of CSV, JSON and SQLite."""

import csv
import io
import json
import sqlite3
from contextlib import closing

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.formats.table_file import csv_rows, json_rows, sqlite_rows


def read(table):
    return list(table.header), [list(row) for _, row in table.rows]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("tables") / "t"


@pytest.mark.parametrize(
    ("text", "separator", "expected"),
    [
        (b"", ",", ([], [])),
        (b"a\n", ",", (["a"], [])),
        (b"a,b\n1,2\n", ",", (["a", "b"], [[b"1", b"2"]])),
        (b"\xef\xbb\xbfa,b\r\n1,2", ",", (["a", "b"], [[b"1", b"2"]])),
        (b"a\tb\n1,0\t2\n", "\t", (["a", "b"], [[b"1,0", b"2"]])),
        (b'a,b\n"x, ""y""\nz",\n\n,2\n', ",", (["a", "b"], [[b'x, "y"\nz', b""], [b"", b"2"]])),
        (b"a,\xc3\xa9\n\xff\x85\x0b,\x1c\n", ",", (["a", "é"], [[b"\xff\x85\x0b", b"\x1c"]])),
    ],
)
def test_csv_rows_are_read(path, text, separator, expected):
    path.write_bytes(text)
    assert read(csv_rows(path, separator)) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"a,b\n1,2\n3\n", "line 3 has 1 fields, there are 2 columns"),
        (b'a,b\n1,"2\n', "it is not valid CSV"),
        (b'a,b\n1,"2"x\n', "it is not valid CSV"),
    ],
)
def test_invalid_csv_is_rejected(path, text, reason):
    path.write_bytes(text)
    with pytest.raises(ValueError, match=reason):
        read(csv_rows(path, ","))


FIELDS = st.text(st.characters(max_codepoint=255), max_size=6)


@given(st.integers(1, 4).flatmap(lambda width: st.lists(st.lists(FIELDS, min_size=width, max_size=width), min_size=1)))
def test_csv_is_read_back_unchanged(path, rows):
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows([[f"c{number}" for number in range(len(rows[0]))], *rows])
    path.write_bytes(text.getvalue().encode("latin-1"))
    _, found = read(csv_rows(path, ","))
    assert found == [[field.encode("latin-1") for field in row] for row in rows]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{}", ([], [])),
        ("[]", ([], [])),
        ('{"k": {"a": "x", "b": 1.50}}', (["", "a", "b"], [[b"k", b"x", b"1.50"]])),
        ('{"k": "x", "l": 7}', (["", "value"], [[b"k", b"x"], [b"l", b"7"]])),
        ('{"k": {"a": null}, "l": {"b": true}}', (["", "a", "b"], [[b"k", None, None], [b"l", None, b"true"]])),
        ('[{"a": "\\u00e9", "b": false}, {"b": 1e9}]', (["a", "b"], [["é".encode(), b"false"], [None, b"1e9"]])),
    ],
)
def test_json_rows_are_read(path, text, expected):
    path.write_text(text)
    assert read(json_rows(path)) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "Expecting value"),
        ("{", "Expecting property name"),
        ("7", "neither a JSON object nor an array"),
        ("[[]]", "element 0 is not an object"),
        ('[{"a": []}]', '"a" of element 0 is an object or an array'),
        ('{"k": {"a": {}}}', '"a" of "k" is an object or an array'),
        ('{"k": {"": 1}}', '"k" has a member without a name'),
        ('{"k": 1, "k": 2}', '"k" occurs twice'),
        ('{"k": NaN}', "NaN is not valid JSON"),
        ("[" * 100_000, "nested too deep"),
    ],
)
def test_json_without_a_table(path, text, reason):
    path.write_text(text)
    with pytest.raises(ValueError, match=reason):
        read(json_rows(path))


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


@given(st.dictionaries(TEXTS, TEXTS, min_size=1))
def test_json_is_read_back_unchanged(path, members):
    path.write_text(json.dumps(members))
    assert read(json_rows(path))[1] == [[name.encode(), value.encode()] for name, value in members.items()]


@pytest.fixture
def sqlite(tmp_path):
    def make(*statements, name="a b?c#%.db"):
        path = tmp_path / name
        with closing(sqlite3.connect(path)) as connection, connection:
            for statement, *values in statements:
                connection.execute(statement, *values)
        return path

    return make


def test_sqlite_rows_are_read(sqlite):
    path = sqlite(
        ('create table "a ""t" (k text, n integer, r real, b blob)',),
        ('insert into "a ""t" values (?, ?, ?, ?)', ("é", 2**60, 0.5, b"\xff\x00")),
        ('insert into "a ""t" values (?, ?, ?, ?)', ("", None, -1.0, b"")),
    )
    expected = [["é".encode(), b"1152921504606846976", b"0.5", b"\xff\x00"], [b"", None, b"-1.0", b""]]
    assert read(sqlite_rows(path, None)) == (["k", "n", "r", "b"], expected)
    assert read(sqlite_rows(path, 'a "t')) == (["k", "n", "r", "b"], expected)


def test_sqlite_reads_views(sqlite):
    path = sqlite(("create table t (k)",), ("insert into t values (1)",), ("create view v as select k, 2 as x from t",))
    assert read(sqlite_rows(path, "v")) == (["k", "x"], [[b"1", b"2"]])
    with pytest.raises(ValueError, match="must have one table, not t, v"):
        sqlite_rows(path, None)


def test_sqlite_without_one_table(sqlite, tmp_path):
    with pytest.raises(ValueError, match="must have one table, not none"):
        sqlite_rows(sqlite(), None)
    with pytest.raises(ValueError, match="no such table: x"):
        sqlite_rows(sqlite(("create table t (k)",)), "x")
    (tmp_path / "text.db").write_text("name,team\n" * 500)
    with pytest.raises(ValueError, match="it cannot be read as SQLite"):
        sqlite_rows(tmp_path / "text.db", None)


def test_sqlite_is_opened_read_only(sqlite):
    path = sqlite(("create table t (k)",))
    before = path.stat().st_mtime_ns
    read(sqlite_rows(path, None))
    assert (path.stat().st_mtime_ns, [each.name for each in path.parent.iterdir()]) == (before, [path.name])


@given(st.lists(st.tuples(TEXTS.filter(lambda text: "\0" not in text), st.none() | st.binary(max_size=5))))
@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_sqlite_is_read_back_unchanged(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("any") / "t.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("create table t (k, v)")
        connection.executemany("insert into t values (?, ?)", rows)
    assert read(sqlite_rows(path, None))[1] == [[key.encode(), value] for key, value in rows]
