"""What every root of dumps promises, as tests; a subclass has the fixture `root`."""

import contextlib
import errno

import pytest

from ingest.durable.register import Register
from sinks.dumps.expiry import DAY_MS, Retention, expire, plan_expiry
from sinks.dumps.layout import FileFormat
from sinks.dumps.pins import create_pin, pins, remove_pin
from sinks.dumps.reader import DumpReader
from sinks.dumps.verifying import verify_dump
from sinks.files.register import RootRegister
from sinks.files.root import TEMPORARY, Root
from tests.support.dumps import DUMP, START_MS, make_dump, rows_of
from tests.support.register_contract import WRITERS, RegisterContract

HOUR_MS = 3_600_000


class RootContract(RegisterContract):
    """Files and folders of a root, a register and dumps in it."""

    @pytest.fixture
    def registers(self, root: Root) -> list[Register]:
        return [RootRegister(root, "register") for _ in range(WRITERS)]

    def test_file_appears_with_its_content_at_the_end(self, root: Root) -> None:
        root.make_folder("a/b")
        with root.new_file("a/b/f") as file:
            file.write(b"12")
            assert not root.exists("a/b/f")
            file.write(b"3" * 100_000)
        with root.open("a/b/f") as file:
            assert file.read(3) == b"123"
            file.seek(1)
            assert file.read() == b"2" + b"3" * 100_000
        assert root.read("a/b/f", 2) == b"12"
        assert [(entry.name, entry.size) for entry in root.entries("a/b")] == [("f", 100_002)]
        root.write("a/b/f", b"new")
        assert root.read("a/b/f") == b"new"

    def test_names_are_of_complete_files(self, root: Root) -> None:
        assert root.file_names("a") == []
        root.make_folder("a/b")
        root.write("a/f", b"")
        root.write("a/e", b"")
        with root.new_file("a/g"):
            assert root.file_names("a") == ["e", "f"]
        root.write(f"a/{TEMPORARY}of-a-killed-process", b"")
        assert root.file_names("a") == ["e", "f", "g"]

    def test_failed_file_does_not_appear(self, root: Root) -> None:
        root.make_folder("a")
        with contextlib.suppress(ZeroDivisionError), root.new_file("a/f") as file:
            file.write(b"1")
            raise ZeroDivisionError
        assert not root.exists("a/f")
        assert [path for path, _ in root.files_below("a")] == []

    def test_file_is_created_once(self, root: Root) -> None:
        root.make_folder("")
        root.create("f", b"first")
        with pytest.raises(FileExistsError):
            root.create("f", b"second")
        assert root.read("f") == b"first"
        assert [path for path, _ in root.files_below("")] == ["f"]

    def test_rename_moves_a_folder_and_replaces_nothing(self, root: Root) -> None:
        if not root.renames_folders:
            pytest.skip("renames_folders")
        for folder in ("a", "other"):
            root.make_folder(f"{folder}/t")
            root.write(f"{folder}/t/f", folder.encode())
        with pytest.raises(FileExistsError):
            root.rename("a", "other")
        root.rename("a", "b")
        with pytest.raises(FileNotFoundError):
            root.rename("a", "c")
        assert [path for path, _ in root.files_below("b")] == ["b/t/f"]
        assert root.read("other/t/f") == b"other"
        assert not root.exists("a")

    def test_rename_of_a_file(self, root: Root) -> None:
        root.make_folder("")
        root.write("f", b"1")
        root.write("g", b"2")
        with pytest.raises(FileExistsError):
            root.rename("f", "g")
        root.rename("f", "h")
        assert (root.exists("f"), root.read("g"), root.read("h")) == (False, b"2", b"1")

    def test_move_replaces_a_file_unless_there_is_none_to_move(self, root: Root) -> None:
        for folder in ("a", "b"):
            root.make_folder(folder)
            root.write(f"{folder}/f", folder.encode())
        with pytest.raises(FileNotFoundError):
            root.move("a/none", "b/f")
        assert root.read("b/f") == b"b"
        root.move("a/f", "b/f")
        root.move("b/f", "b/g")
        assert [path for folder in ("a", "b") for path, _ in root.files_below(folder)] == ["b/g"]
        assert root.read("b/g") == b"a"

    def test_what_is_missing(self, root: Root) -> None:
        root.make_folder("")
        assert not root.exists("x")
        for call in (lambda: root.open("x/f"), lambda: root.entries("x"), lambda: root.read("x")):
            with pytest.raises(FileNotFoundError) as missing:
                call()
            assert missing.value.errno == errno.ENOENT
        root.remove_file("x")
        root.remove_folder("x")
        root.remove_tree("x")
        assert list(root.files_below("x")) == []
        root.write("f", b"1")
        assert list(root.files_below("f")) == []

    def test_remove_tree(self, root: Root) -> None:
        root.make_folder("a/b")
        root.write("a/b/f", b"1")
        root.write("a/g", b"1")
        root.remove_tree("a")
        assert not root.exists("a")

    def test_all_files_of_the_root_are_below_it(self, root: Root) -> None:
        root.make_folder("a/b")
        root.write("a/b/f", b"1")
        root.write("g", b"1")
        assert [path for path, _ in root.files_below("")] == ["a/b/f", "g"]
        root.remove_tree("")
        assert list(root.files_below("")) == []

    @pytest.mark.parametrize("file_format", FileFormat)
    def test_dump_is_read_verified_and_expires(self, root: Root, file_format: FileFormat) -> None:
        rows = rows_of(*(b"%04d\xff" % number for number in range(2_000)))
        make_dump(root, {"ns:t": [rows[:1_500], rows[1_500:]], "empty": [[]]}, file_format=file_format)
        make_dump(root, {"ns:t": [rows[:1]]}, at_ms=START_MS + HOUR_MS, run_id="b", file_format=file_format)
        reader = DumpReader(root)
        assert [dump.name for dump in reader.dumps()] == [DUMP, "2015-02-24-01-00-00"]
        with reader.locked_view(DUMP) as view, view.scan("ns:t") as found:
            assert [pin.dump for pin in pins(root)] == [DUMP]
            assert [row.to_row() for row in found] == rows
        assert verify_dump(root, DUMP).status == "complete"
        pin = create_pin(root, DUMP, START_MS)
        later = START_MS + 10 * DAY_MS
        expire(root, plan_expiry(root, Retention(), START_MS + DAY_MS - 1), START_MS)
        assert root.exists(DUMP)
        remove_pin(root, pin.id)
        expire(root, plan_expiry(root, Retention(), later), later)
        assert [dump.name for dump in reader.dumps()] == ["2015-02-24-01-00-00"]
        assert not root.exists(DUMP)
