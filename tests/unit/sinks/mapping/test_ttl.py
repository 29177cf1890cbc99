"""The option `ttl` of the sinks of stores: what it gives for an event, and which files have it in vain."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from ingest.api import MAX_TIME_MS, Delete, Event, MappingError, Put
from sinks.mapping.attr2hbase import Attr2HBase, Attr2HBaseSettings
from sinks.mapping.hbase import HBase, HBaseSinkSettings
from tests.support.mapped import only
from tests.support.problems import problems_of

BATCH_MS = 1_700_000_000_000
CELLS = {"row_key": {"template": "%{key}"}, "cells": [{"family": "f", "qualifier": "q", "value": "%{body}"}]}


def hbase(ttl: str, **options: object) -> HBase:
    return HBase(HBaseSinkSettings.model_validate({"table": "t", "ttl": ttl} | CELLS | options))


def event(**attributes: bytes) -> Event:
    return Event(b"v", attributes, key=b"r", timestamp_ms=1_000)


def put_of(mapper: HBase | Attr2HBase, given: Event) -> Put:
    _, put = only(mapper.map(given, BATCH_MS))
    assert isinstance(put, Put)
    return put


@pytest.mark.parametrize(
    ("ttl", "attributes", "expected"),
    [
        ("30d", {}, 30 * 86_400_000),
        ("1.5s", {}, 1_500),
        ("1 ms", {}, 1),
        ("%{ttl}ms", {"ttl": b"250"}, 250),
        ("%{ttl}", {"ttl": b"2h"}, 7_200_000),
        ("%{default(ttl, '')}", {"ttl": b"9s"}, 9_000),
        ("%{default(ttl, '')}", {}, None),
        ("%{if(%{level} == 'DEBUG', '7d', '30d')}", {"level": b"DEBUG"}, 7 * 86_400_000),
        ("", {}, None),
    ],
)
def test_the_cells_of_an_event_get_the_time_to_live_that_the_option_gives(
    ttl: str, attributes: dict[str, bytes], expected: int | None
) -> None:
    for _ in range(2):
        assert put_of(hbase(ttl), event(**attributes)) == Put(b"r", {b"f:q": b"v"}, BATCH_MS, ttl_ms=expected)


def test_attributes_that_become_cells_have_one_too() -> None:
    mapper = Attr2HBase(Attr2HBaseSettings.model_validate({"table": "t", "ttl": "%{for}"}))
    given = event(**{"2hb_": b"r", "2hb_f:q": b"v", "for": b"1h"})
    assert put_of(mapper, given) == Put(b"r", {b"f:q": b"v"}, BATCH_MS, ttl_ms=3_600_000)


def test_a_delete_has_none() -> None:
    mapper = hbase("1h", rules=[{"when": "%{gone} == 'yes'", "delete": "row"}])
    for given in (event(gone=b"yes"), Event(b"", {}, key=b"r", tombstone=True)):
        assert only(mapper.map(given, BATCH_MS)) == ("t", Delete(b"r", BATCH_MS))


@pytest.mark.parametrize(
    ("ttl", "attributes", "code", "message"),
    [
        ("%{ttl}", {}, "no_attribute", 'no attribute "ttl" for `ttl`'),
        ("%{ttl}", {"ttl": b"3600000"}, "bad_ttl", '`ttl` is "3600000", which is no duration'),
        ("%{ttl}ms", {"ttl": b"-5"}, "bad_ttl", '`ttl` is "-5ms", which is no duration'),
        ("%{ttl}ms", {"ttl": b"\xff"}, "bad_ttl", "which is no duration"),
        ("%{ttl}ms", {"ttl": b"0"}, "bad_ttl", '`ttl` is "0ms"; a cell lives for 1 ms to'),
        ("%{ttl}", {"ttl": b"0.0004s"}, "bad_ttl", "a cell lives for 1 ms to"),
        ("%{ttl}d", {"ttl": b"999999999999999"}, "bad_ttl", "a cell lives for 1 ms to"),
        ("%{ttl}d", {"ttl": b"106751991167"}, "bad_ttl", "ms of cells at 1700000000000 is not between"),
    ],
)
def test_an_event_fails_whose_time_to_live_cannot_be_written(
    ttl: str, attributes: dict[str, bytes], code: str, message: str
) -> None:
    with pytest.raises(MappingError) as caught:
        hbase(ttl).map(event(**attributes), BATCH_MS)
    assert caught.value.code == code
    assert message in str(caught.value)


def test_it_counts_from_the_event_time_if_that_is_the_timestamp() -> None:
    mapper = hbase("%{ttl}ms", timestamp="event")
    assert put_of(mapper, event(ttl=b"5")) == Put(b"r", {b"f:q": b"v"}, 1_000, ttl_ms=5)
    late = Event(b"v", {"ttl": b"2"}, key=b"r", timestamp_ms=MAX_TIME_MS - 1)
    with pytest.raises(MappingError, match="2 ms of cells at"):
        mapper.map(late, BATCH_MS)


@pytest.mark.parametrize(("ttl", "why"), [("30", "no duration"), ("0s", "a cell lives for"), ("soon", "no duration")])
def test_a_constant_is_checked_with_the_file(ttl: str, why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        hbase(ttl)


FILE = """\
version: 1
stores: {{s: {store}}}
tables: {{t: {{families: {{f: {{}}}}{table}}}}}
pipelines:
  p:
    source: {{files: {{path: {folder}}}}}
    decorators: [value: {{attribute: "2hb_", value: "%{{offset}}"}}, value: {{attribute: "2hb_f:q", value: "1"}}]
    sinks: [attr2hbase: {{table: t, ttl: 1h}}]
"""
NATIVE = "{hbase: {bootstrap_servers: 'localhost:1', staging: /tmp/s}}"


@pytest.mark.parametrize(
    ("store", "table", "problem"),
    [
        ("{hbase: {}}", "", None),
        (NATIVE, "", None),
        ("{rocksdb: {path: ./data}}", "", "conflict: the rocksdb store keeps no time to live of single cells"),
        (NATIVE, ", updates: {processor: sum}", 'conflict: table "t" has deferred updates, and a merged row has one'),
        (NATIVE, ", feed: {}", 'conflict: table "t" has a change feed, and a change does not say when its cells'),
        (NATIVE, ", bulk_load: auto", 'doubtful: warning: table "t" has bulk load, and rows with a time to live are'),
    ],
)
def test_files_whose_cells_cannot_have_one(tmp_path: Path, store: str, table: str, problem: str | None) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(FILE.format(store=store, table=table, folder=tmp_path))
    found = [each for each in problems_of(path) if "ttl" in each]
    assert len(found) == (problem is not None)
    assert problem is None or found[0].startswith(f"8:41: {problem}")
    assert problem is None or "write `ttl` of the" in found[0]


@pytest.mark.parametrize(
    ("ttl", "families", "options", "warns"),
    [
        ("2h", "f: {ttl: 1h}, g: {ttl: 30m}", "", True),
        ("1h", "f: {ttl: 1h}, g: {ttl: 30m}", "", False),
        ("2h", "f: {ttl: 1h}, g: {}", "", False),
        ("2h", "f: {ttl: 1h}, g: {}", "families: {deny: [g]}", True),
        ("2h", "", "", False),
        ("%{default(ttl, '2h')}", "f: {ttl: 1h}", "", False),
    ],
)
def test_a_constant_above_all_families_has_no_effect(
    tmp_path: Path, ttl: str, families: str, options: str, *, warns: bool
) -> None:
    path = tmp_path / "p.yaml"
    text = FILE.format(store=NATIVE, table="", folder=tmp_path)
    text = text.replace("ttl: 1h", f'ttl: "{ttl}"' + (f", {options}" if options else ""))
    path.write_text(text.replace("f: {}", families))
    found = [each for each in problems_of(path) if "shorter `ttl`" in each]
    start = '8:41: doubtful: warning: each family of table "t" that the sink may write has a shorter `ttl`'
    assert [each.startswith(start) for each in found] == [True] * warns
