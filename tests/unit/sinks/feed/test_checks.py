"""The option `feed` of tables, and the sinks that write them."""

from pathlib import Path

import pytest

from ingest.api import FamilySpec, FeedSpec, TableSpec
from ingest.catalog import Catalog
from ingest.config import load
from ingest.config.model import declared_in
from tests.support.problems import problems_of

FILE = """\
version: 1
stores: {s: {hbase: {}}}
tables:
  t: {families: {f: {}}, feed: {FEED}}
TABLES
pipelines:
  p:
    source: {files: {path: ./a.log}}
    decorators: [value: {attribute: 2hb_, value: '%{offset}'}, value: {attribute: '2hb_f:q', value: v}]
    sinks: [{attr2hbase: {SINK}}]
"""
SECOND = """\
  q:
    source: {files: {path: ./b.log}}
    decorators: [value: {attribute: 2hb_, value: '%{offset}'}, value: {attribute: '2hb_f:q', value: v}]
    sinks: [{attr2hbase: {table: t}}]
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "p.yaml"


def file_of(*, feed: str = "", tables: str = "", sink: str = "table: t", pipelines: str = "") -> str:
    text = FILE.replace("FEED", feed).replace("TABLES\n", tables).replace("SINK", sink)
    return text + pipelines


def test_a_table_with_a_feed_has_a_table_beside_it(path: Path) -> None:
    path.write_text(file_of(feed="expiration: 2h, shards: 3, before: true"))
    tables = load(path, env={}, lookup=Catalog()).tables

    assert tables["t"].spec().feed == FeedSpec(7_200_000, 3, before=True)
    assert declared_in("s", tables.values())["t_feed"] == TableSpec(
        "t_feed", (FamilySpec(b"f", ttl_s=10_800),), (b"\x00\x00\x00\x02", b"\x00\x00\x00\x03")
    )


def test_the_options_have_defaults(path: Path) -> None:
    path.write_text(file_of())
    tables = load(path, env={}, lookup=Catalog()).tables

    assert tables["t"].spec().feed == FeedSpec(86_400_000, 4, before=False)
    assert problems_of(path) == []


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"feed": "expiration: 5s"}, "4:45: out-of-range"),
        ({"feed": "shards: 0"}, "4:41: out-of-range"),
        ({"feed": "shards: 257"}, "4:41: out-of-range"),
        (
            {"tables": "  t_feed: {families: {f: {}}}\n"},
            '5:3: conflict: table "t_feed" is declared, and has the change feed',
        ),
        ({"sink": "table: t, durability: async"}, '9:49: conflict: table "t" has a change feed, and a crash'),
        ({"sink": "table: t_feed"}, '9:34: conflict: table "t_feed" has the change feed of table "t"'),
        ({"pipelines": SECOND}, '13:34: conflict: pipeline p already writes table "t" with its feed'),
    ],
)
def test_what_a_feed_cannot_be_is_reported(path: Path, options: dict[str, str], problem: str) -> None:
    path.write_text(file_of(**options))
    found = problems_of(path)

    assert any(each.startswith(problem) for each in found), found


def test_updates_are_not_read_before_they_are_changed(path: Path) -> None:
    path.write_text(file_of(feed="before: true").replace("feed:", "updates: {processor: count}, feed:"))

    assert [each.partition(", and")[0] for each in problems_of(path)] == [
        '4:70: conflict: table "t" has deferred updates'
    ]


@pytest.mark.parametrize(("blobs", "is_refused"), [("", False), ("threshold: 1MiB", True)])
def test_large_values_of_a_table_with_a_feed_are_not_moved(path: Path, blobs: str, *, is_refused: bool) -> None:
    path.write_text(file_of().replace("feed:", f"blobs: {{{blobs}}}, feed:"))

    assert [each.partition(", and")[0] for each in problems_of(path)] == (
        ['4:45: conflict: table "t" has a change feed'] if is_refused else []
    )
