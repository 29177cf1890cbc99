"""The option `blobs` of tables."""

from pathlib import Path

import pytest

from ingest.api import FamilySpec, TableSpec
from ingest.catalog import Catalog
from ingest.config import load
from tests.support.problems import problems_of

FILE = """\
version: 1
stores: {s: {memory: {}}}
tables:
  t:
    blobs: {OPTIONS}
    families: {f: {}}
  other:
    families: {f: {}}
pipelines:
  p:
    source: {files: {path: ./a.log}}
    decorators:
      - value: {attribute: 2hb_, value: '%{topic}-%{offset}'}
      - value: {attribute: '2hb_f:q', value: v}
    sinks: [{attr2hbase: {table: t}}, {attr2hbase: {table: other}}]
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "p.yaml"


def test_tables_of_a_blob_store_are_declared(path: Path):
    for options, name in (("", "t_blobs"), ("name: large", "large")):
        path.write_text(FILE.replace("OPTIONS", options))
        configuration = load(path, env={}, lookup=Catalog())
        assert list(configuration.tables) == ["t", "other", f"{name}_meta", f"{name}_value", f"{name}_refs"]
        assert [configuration.tables[f"{name}_{suffix}"].spec() for suffix in ("meta", "value", "refs")] == [
            TableSpec(f"{name}_meta", (FamilySpec(b"m"),)),
            TableSpec(f"{name}_value", (FamilySpec(b"b"),)),
            TableSpec(f"{name}_refs", (FamilySpec(b"r"),)),
        ]
        assert configuration.store_of_table(f"{name}_value") == "s"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ("block_size: 8MiB, read_ahead: 1B, compression: zstd, sweep_after: 1m", None),
        ("block_size: 0B", "5:25: out-of-range"),
        ("block_size: -1B", "5:25: bad-unit"),
        ("block_size: 9MiB", "5:25: out-of-range"),
        ("read_ahead: 0B", "5:25: out-of-range"),
        ("sweep_after: 59s", "5:26: out-of-range"),
        ("compression: gz", "5:26: not-one-of"),
        ("name: a/b", "5:19: wrong-type"),
        ("name: 'default:a'", "5:19: wrong-type"),
        ("threshold: 1MiB, sweep_at: '03:00'", None),
        ("sweep_at: '24:00'", "5:23: out-of-range"),
        ("threshold: 0B", "5:24: out-of-range"),
        ("treshold: 1MiB", "5:13: unknown-field"),
    ],
)
def test_2c16_options_are_checked(path: Path, options: str, problem: str | None):
    path.write_text(FILE.replace("OPTIONS", options))
    found = problems_of(path)
    assert [each.startswith(problem or "?") for each in found] == ([] if problem is None else [True]), found


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ("  other:", "  t_blobs_meta:", 'table "t_blobs_meta" belongs to the blob store of table "t"'),
        ("  other:\n", "  other:\n    blobs: {name: t_blobs}\n", 'table "t" already has a blob store of this name'),
        ("    families: {f: {}}\n  other", "    updates: {processor: sum}\n  other", 'table "t" has deferred updates'),
    ],
)
def test_conflicts_of_tables(path: Path, before: str, after: str, problem: str):
    text = FILE.replace("OPTIONS", "").replace(before, after, 1)
    path.write_text(text.replace("{table: other}", "{table: t_blobs_meta}") if "_meta" in after else text)
    assert any("conflict: " in each and problem in each for each in problems_of(path)), problems_of(path)
