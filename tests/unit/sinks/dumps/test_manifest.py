"""The manifest of a dump, and `_SUCCESS`."""

import pickle

import orjson
import pytest

from ingest.api import FamilySpec
from sinks.dumps.errors import DumpCorruptError
from sinks.dumps.layout import FileFormat
from sinks.dumps.manifest import DumpedTable, Manifest, Success, TableFile, read_manifest
from sinks.files.local_root import LocalRoot

FILE = TableFile("t/f", 2, 30, "00ff", b"a\xff", b"b")
MANIFEST = Manifest(
    dump="2015-02-24-00-00-00",
    id="one",
    start_ms=1_424_736_000_123,
    end_ms=1_424_736_001_000,
    file_format=FileFormat.ZSTD,
    tables={
        "t": DumpedTable(
            (FILE,), True, (FamilySpec(b"f", versions=3, ttl_s=60), FamilySpec(b"\xff")), {"a": "f:a utf8"}
        ),
        "empty": DumpedTable(()),
    },
    feed={"t": {"stream": "s", "shards": {"1": "00"}}},
    software="attr2hbase 0",
)


def test_manifest_comes_back():
    assert Manifest.of(MANIFEST.to_bytes(), MANIFEST.dump) == MANIFEST
    assert (MANIFEST.empty_tables, MANIFEST.tables["t"].rows, MANIFEST.tables["t"].size_bytes) == (["empty"], 2, 30)


def test_content():
    content = orjson.loads(MANIFEST.to_bytes())
    assert content["start"] == "2015-02-24T00:00:00.123Z"
    assert content["empty_tables"] == ["empty"]
    assert content["consistency"] == "fuzzy"
    assert content["tables"]["t"]["is_exact"] is True
    assert content["tables"]["t"]["files"] == [
        {"path": "t/f", "rows": 2, "size_bytes": 30, "sha256": "00ff", "first_row": {"b64": "Yf8="}, "last_row": "b"}
    ]


@pytest.mark.parametrize("change", [{"format": 2}, {"start": "x"}, {"tables": []}, {"tables": {"t": 1}}, {"end": None}])
def test_other_content_is_damage(change, tmp_path):
    root = LocalRoot(tmp_path)
    root.make_folder("d")
    root.write("d/_MANIFEST.json", orjson.dumps(orjson.loads(MANIFEST.to_bytes()) | change))
    with pytest.raises(DumpCorruptError, match=r"_MANIFEST\.json"):
        read_manifest(root, "d")


@pytest.mark.parametrize("content", [b"", b"2015-02-24T00:00:00Z\n", b"a\nb\nc\n", b"\xff"])
def test_success_of_other_lines_is_damage(content):
    with pytest.raises(DumpCorruptError, match="_SUCCESS"):
        Success.from_bytes(content, "d")


def test_damage_comes_back_from_another_process():
    error = DumpCorruptError("t/f", "no gzip", offset=7)
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - of this test
    assert (copy.message, copy.file, copy.offset, copy.line, copy.hint) == (
        '"t/f", byte 7: no gzip',
        "t/f",
        7,
        None,
        error.hint,
    )
