"""Checks of the files of a dump."""

import pytest

from sinks.dumps.layout import FileFormat
from sinks.dumps.verifying import verify_dump
from sinks.files.local_root import LocalRoot
from tests.support.dumps import DUMP, make_dump, rows_of


@pytest.fixture
def root(tmp_path):
    root = LocalRoot(tmp_path / "dumps")
    make_dump(root, {"t": [rows_of(b"a", b"b"), rows_of(b"c")], "empty": [[]]})
    return root


def test_complete_dump(root):
    seen = []
    found = verify_dump(root, DUMP, seen.append)
    assert (found.status, found.files, found.rows, found.damages) == ("complete", 2, 3, ())
    assert found.size_bytes == sum(entry.size for _, entry in root.files_below(f"{DUMP}/t"))
    assert seen == [1, 2]


def test_1c_16_one_flipped_byte_names_the_file(root, tmp_path):
    files = sorted((tmp_path / "dumps" / DUMP / "t").iterdir())
    content = bytearray(files[1].read_bytes())
    for place in range(len(content)):
        content[place] ^= 1
        files[1].write_bytes(content)
        found = verify_dump(root, DUMP)
        (damage,) = found.damages
        assert (found.status, damage.file, damage.exit_code) == ("damaged", f"{DUMP}/t/{files[1].name}", 5)
        content[place] ^= 1
    files[1].write_bytes(content[:-1])
    assert "bytes, but" in verify_dump(root, DUMP).damages[0].message


def test_rows_that_are_not_in_order_are_a_damage(tmp_path):
    root = LocalRoot(tmp_path / "unordered")
    make_dump(root, {"t": [rows_of(b"a", b"c", b"b", b"d")]})
    (damage,) = verify_dump(root, DUMP).damages
    assert "not in the order of their keys" in damage.message


def test_own_dump_without_its_manifest_is_incomplete(tmp_path):
    root = LocalRoot(tmp_path / "own")
    make_dump(root, {"ns:t": [rows_of(b"a")]})
    root.remove_file(f"{DUMP}/_MANIFEST.json")
    assert verify_dump(root, DUMP).missing == "it has no _MANIFEST.json"
    file = next(path for path, _ in root.files_below(f"{DUMP}/ns~t"))
    root.rename(file, f"{DUMP}/ns~t/ns~t-00-0123456789abcdef-0.json.gz")  # as EmoDB's
    assert verify_dump(root, DUMP).status == "complete"


@pytest.mark.parametrize("name", ["_SUCCESS", "t"])
def test_1c_5_incomplete_dump(root, tmp_path, name):
    path = tmp_path / "dumps" / DUMP / name
    if path.is_dir():
        path = next(path.iterdir())
    path.unlink()
    found = verify_dump(root, DUMP)
    assert found.status == "incomplete"
    assert path.name in found.missing
    assert verify_dump(root, "2014-01-01-00-00-00").missing == "there is no such folder"


def test_damaged_manifest(root, tmp_path):
    for content in (b"{", b"{}", b'{"format": 2}'):
        (tmp_path / "dumps" / DUMP / "_MANIFEST.json").write_bytes(content)
        found = verify_dump(root, DUMP)
        assert (found.status, found.damages[0].file) == ("damaged", f"{DUMP}/_MANIFEST.json")


@pytest.mark.parametrize("columns", [None, {"q": "f:q utf8"}])
def test_parquet(tmp_path, columns):
    root = LocalRoot(tmp_path)
    make_dump(root, {"t": [rows_of(b"a", b"b")]}, file_format=FileFormat.PARQUET, columns=columns)
    assert (verify_dump(root, DUMP).status, verify_dump(root, DUMP).rows) == ("complete", 2)
