"""The lookup decorator."""

import os
import sqlite3
import time
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from decorators.lookup import Lookup, LookupSettings
from ingest.api import DecorateError
from ingest.api.files import ReferenceFileError
from ingest.testing.events import event_of

SERVICES = b"name,team,tier\nshop,red,1\nsearch,blue,2\n"


def write(path, content, *, age_s=60.0):
    """Write to a temporary file and rename it."""
    new = path.with_name("new")
    new.write_bytes(content)
    past = new.stat().st_mtime - age_s
    os.utime(new, (past, past))
    new.rename(path)


@pytest.fixture
def services(tmp_path):
    write(tmp_path / "services.csv", SERVICES)
    return tmp_path / "services.csv"


def make(path, **options):
    return Lookup(LookupSettings(path=str(path), **options))


def after(decorator, body, attributes=None, **options):
    event = event_of(body, attributes, **options)
    assert decorator.decorate(event) is True
    return event.attributes


@pytest.mark.parametrize(
    ("options", "key", "expected"),
    [
        ({}, "shop", {"team": b"red", "tier": b"1"}),
        ({"prefix": "p:"}, "search", {"p:team": b"blue", "p:tier": b"2"}),
        ({"columns": {"tier": "t"}, "prefix": "p:"}, "shop", {"p:t": b"1"}),
        ({"columns": {"name": "n"}}, "shop", {"n": b"shop"}),
        ({"key": "team"}, "blue", {"name": b"search", "tier": b"2"}),
        ({"key": "tier", "columns": {"name": "x", "team": "y"}}, "2", {"x": b"search", "y": b"blue"}),
        ({}, "Shop", {}),
        ({}, b"\xff", {}),
    ],
)
def test_columns_become_attributes(services, options, key, expected):
    assert after(make(services, **options), key) == expected
    assert after(make(services, source="s", **options), "", {"s": key}) == expected | {"s": event_of(key).body}


@given(st.dictionaries(st.binary(min_size=1, max_size=6), st.binary(max_size=6), max_size=20), st.binary(max_size=6))
def test_any_bytes_are_valid_keys_and_values(tmp_path_factory, entries, other):
    path = tmp_path_factory.mktemp("any") / "t.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("create table t (k, v)")
        connection.executemany("insert into t values (?, ?)", entries.items())
    decorator = make(path)
    for key in [*entries, other]:
        assert after(decorator, key) == ({"v": entries[key]} if key in entries else {})


def test_missing_value_of_a_row_sets_nothing(tmp_path):
    write(tmp_path / "t.json", b'{"k": {"a": 1, "b": null}, "l": {"b": ""}}')
    decorator = make(tmp_path / "t.json")
    assert (after(decorator, "k"), after(decorator, "l")) == ({"a": b"1"}, {"b": b""})


def test_events_do_not_change_the_table(services):
    decorator = make(services)
    after(decorator, "shop")["team"] = b"green"
    assert after(decorator, "shop")["team"] == b"red"


def test_key_not_in_the_table(services):
    for options, attributes in (({}, {}), ({"source": "s"}, {"s": "mail"}), ({"source": "s"}, {})):
        event = event_of("mail", attributes)
        assert make(services, on_not_found="drop", **options).decorate(event) is False
        with pytest.raises(DecorateError) as caught:
            make(services, on_not_found="error", **options).decorate(event)
        assert caught.value.code == ("no_attribute" if options and not attributes else "no_entry")
        assert event == event_of("mail", attributes)
    assert make(services).drop_reason == "no_entry"


def test_existing_attribute_fails_if_written_once(services):
    event = event_of("shop", {"tier": ""}, write_once=True)
    with pytest.raises(DecorateError) as caught:
        make(services).decorate(event)
    assert (caught.value.code, event.attributes) == ("attribute_exists", {"tier": b""})


def test_changed_table_is_read_at_the_start_of_a_split(services):
    decorator = make(services)
    write(services, SERVICES.replace(b"red", b"green"))
    assert after(decorator, "shop")["team"] == b"red"
    decorator.split_start()
    assert after(decorator, "shop")["team"] == b"green"


@pytest.fixture
def in_wal_mode(tmp_path):
    """A database with an open connection, and a function that changes it, each time a minute later."""
    path = tmp_path / "t.db"
    ages_s = iter(range(600, 0, -60))
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("pragma journal_mode = wal")

        def change(*statements):
            for statement in statements:
                writer.execute(statement)
            writer.commit()
            past = time.time() - next(ages_s)
            os.utime(tmp_path / "t.db-wal", (past, past))

        change("create table t (k, v)", "insert into t values ('shop', 'red')")
        writer.execute("pragma wal_checkpoint")
        os.utime(path, (0, 0))
        yield path, change


def test_changes_in_the_wal_file_are_read(in_wal_mode):
    path, change = in_wal_mode
    change("update t set v = 'green'")
    content = path.read_bytes()
    decorator = make(path)
    assert after(decorator, "shop") == {"v": b"green"}
    change("update t set v = 'blue'")
    decorator.split_start()
    assert after(decorator, "shop") == {"v": b"blue"}
    assert path.read_bytes() == content


def test_wal_database_without_a_writer_is_read_once(tmp_path, monkeypatch):
    path = tmp_path / "t.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("pragma journal_mode = wal")
        connection.execute("create table t (k, v)")
        connection.execute("insert into t values ('shop', 'red')")
    os.utime(path, (0, 0))
    decorator = make(path)
    assert after(decorator, "shop") == {"v": b"red"}
    opened = []
    monkeypatch.setattr(sqlite3, "connect", lambda *arguments, **_: opened.append(arguments))
    decorator.split_start()
    assert opened == []
    assert after(decorator, "shop") == {"v": b"red"}


@pytest.mark.parametrize(
    "content", [b"", b"name,team,tier\nshop,red\n", b"name,team\nshop,red\n", SERVICES + b"shop,x,1\n"]
)
def test_broken_table_fails_the_split_and_no_event(services, content):
    decorator = make(services, columns={"tier": "tier"})
    write(services, content)
    with pytest.raises(ReferenceFileError):
        decorator.split_start()
    assert after(decorator, "shop") == {"tier": b"1"}
    write(services, SERVICES.replace(b"shop,red,1", b"shop,red,3"))
    decorator.split_start()
    assert after(decorator, "shop") == {"tier": b"3"}


@pytest.mark.parametrize(
    ("content", "options", "reason"),
    [
        (b"", {}, "the file has no columns"),
        (b"a,b,b\n", {}, 'the file has two columns "b"'),
        (b"a,b\n1,2\n1,3\n", {}, 'line 3 has the same key as an earlier row: "1"'),
    ],
)
def test_invalid_table_is_rejected(tmp_path, content, options, reason):
    write(tmp_path / "t.csv", content)
    with pytest.raises(ValueError, match=r"use .*t\.csv") as caught:
        make(tmp_path / "t.csv", **options)
    assert reason in str(caught.value)


@pytest.mark.parametrize(("options", "option"), [({"key": "c"}, "key"), ({"columns": {"c": "x"}}, "columns")])
def test_unknown_column_is_reported_at_its_option(tmp_path, options, option):
    write(tmp_path / "t.csv", b"a,b\n")
    with pytest.raises(ValidationError) as caught:
        make(tmp_path / "t.csv", **options)
    (error,) = caught.value.errors()
    assert (error["msg"], error["ctx"]["option"]) == ('the file has no column "c"', option)
    assert error["ctx"]["hint"] == "it has a, b"


def test_row_without_key_is_rejected(tmp_path):
    write(tmp_path / "t.json", b'[{"k": "1"}, {"v": "2"}]')
    with pytest.raises(ValueError, match="element 1 has no key"):
        make(tmp_path / "t.json", key="k")


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("t", "", [("missing", ())]),
        ("t", "format: xml", [("enum", ("format",))]),
        ("t.csv", "table: t", [("conflict", ())]),
        ("t.csv", 'separator: "\\n"', [("bad_character", ())]),
        ("t.csv", "columns: {}", [("too_short", ("columns",))]),
        ("none.csv", "", [("unknown_reference", ())]),
        ("t.csv", "format: json", [("unknown_reference", ())]),
        ("t.csv", "format: sqlite", [("unknown_reference", ())]),
        (".csv", "", [("missing", ())]),
    ],
)
def test_invalid_options_are_rejected(tmp_path, errors_of, name, options, expected):
    write(tmp_path / "t.csv", SERVICES)
    assert errors_of(Lookup, f"{{path: '{tmp_path / name}', {options}}}") == expected


def test_format_is_derived_from_the_file_name(tmp_path):
    write(tmp_path / "T.CSV", SERVICES)
    write(tmp_path / "t.tsv", SERVICES.replace(b",", b"\t"))
    assert after(make(tmp_path / "T.CSV"), "shop")["team"] == b"red"
    assert after(make(tmp_path / "t.tsv", format="csv", separator="\t"), "shop")["team"] == b"red"
