"""The option `distribute` of tables."""

from pathlib import Path

import pytest

from ingest.api import TableSpec
from ingest.catalog import Catalog
from ingest.config import load
from tests.support.problems import problems_of

FILE = """\
version: 1
stores: {s: {memory: {}}}
tables:
  t:
    distribute: {hash: BUCKETS}
    families: {f: {}}
pipelines:
  p:
    source: {files: {path: ./a.log}}
    decorators:
      - value: {attribute: 2hb_, value: '%{topic}-%{offset}'}
      - value: {attribute: '2hb_f:q', value: v}
    sinks: [{attr2hbase: {table: t}}]
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "p.yaml"


def spec(path: Path) -> TableSpec:
    return load(path, env={}, lookup=Catalog()).tables["t"].spec()


def test_table_is_split_between_its_buckets(path: Path):
    path.write_text(FILE.replace("BUCKETS", "4"))
    assert (spec(path).buckets, spec(path).splits) == (4, (b"\x01", b"\x02", b"\x03"))
    path.write_text(FILE.replace("BUCKETS", "4").replace("    families", "    splits: [a]\n    families"))
    assert (spec(path).buckets, spec(path).splits) == (4, (b"a",))


@pytest.mark.parametrize(
    ("buckets", "problem"),
    [
        ("16", None),
        ("0", "5:24: out-of-range"),
        ("257", "5:24: out-of-range"),
        ("62", "5:24: out-of-range: 62 buckets are a multiple of 31"),
        ("64", "5:24: doubtful: warning: row keys with decimal numbers"),
    ],
)
def test_number_of_buckets_is_checked(path: Path, buckets: str, problem: str | None):
    path.write_text(FILE.replace("BUCKETS", buckets))
    found = problems_of(path)
    assert [each.startswith(problem or "?") for each in found] == ([] if problem is None else [True]), found


@pytest.mark.parametrize(
    ("place", "alias", "found"),
    [("  t:", "  default:t:", "4:3"), ("table: t}", "table: 'default:t'}", "13:34")],
)
def test_table_has_one_name(path: Path, place: str, alias: str, found: str):
    path.write_text(FILE.replace("BUCKETS", "4").replace(place, alias))
    problems = problems_of(path)
    assert any(each.startswith(f"{found}: wrong-type") and 'write "t"' in each for each in problems), problems
