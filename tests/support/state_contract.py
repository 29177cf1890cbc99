"""What every place of state promises: a folder of this machine, and one of a cluster."""

import threading

import pytest

from ingest.api import ConflictError, IntegrityError
from ingest.dead_letters.marks import Marks
from ingest.dead_letters.queue import Mark, ReplayOutcome
from ingest.durable import StatePath, append_durably, create_durably, make_folder, write_durably
from ingest.durable.append_log import AppendLog, lines_of
from ingest.durable.lease import Lease, Timing, require_grant
from ingest.durable.marker import Marker
from ingest.durable.register import StateRegister
from ingest.spark.streaming.batch_time import BatchTimes, newest_time, stored_time
from tests.support.leases import left_lease


class StateContract:
    """Subclass it with a fixture `root`: a folder that does not exist, in a folder that does."""

    @pytest.fixture
    def folder(self, root: StatePath) -> StatePath:
        """A new folder."""
        make_folder(root / "a" / "b")
        return root / "a" / "b"

    def test_folder_with_its_parents_may_exist(self, root: StatePath):
        for _ in range(2):
            make_folder(root / "a" / "b")
        assert ((root / "a").is_dir(), root.exists(), (root / "b").exists()) == (True, True, False)
        assert [path.name for path in (root / "a").iterdir()] == ["b"]

    def test_written_file_replaces_the_one_before(self, folder: StatePath):
        path = folder / "x.json"
        for content in (b"", b"one", bytes(range(256)) * 1000):
            write_durably(path, content)
            assert path.read_bytes() == content
        assert [each.name for each in folder.iterdir()] == ["x.json"]
        assert (path.name, path.stem, path.suffix) == ("x.json", "x", ".json")
        assert (path.exists(), path.is_dir(), path.parent) == (True, False, folder)
        assert str(path) == f"{folder}/x.json"
        assert (path.with_name("y.z"), path.with_suffix(".z")) == (folder / "y.z", folder / "x.z")

    def test_created_file_is_not_replaced(self, folder: StatePath):
        path = folder / "x"
        create_durably(path, b"first")
        with pytest.raises(FileExistsError):
            create_durably(path, b"second")
        assert path.read_bytes() == b"first"
        assert [each.name for each in folder.iterdir()] == ["x"]

    def test_one_of_several_callers_creates_a_file(self, folder: StatePath):
        path, created = folder / "x", list[int]()

        def create(number: int) -> None:
            try:
                create_durably(path, str(number).encode())
            except FileExistsError:
                return
            created.append(number)

        threads = [threading.Thread(target=create, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [path.read_text()] == [str(number) for number in created]

    def test_appended_content_follows(self, folder: StatePath):
        for content in (b"one\n", b"two\n"):
            append_durably(folder / "x", content)
        with (folder / "x").open("rb") as file:
            assert list(file) == [b"one\n", b"two\n"]

    def test_missing_paths_are_reported(self, folder: StatePath):
        missing = folder / "missing"
        for call in (missing.read_bytes, missing.unlink, lambda: list(missing.iterdir()), lambda: missing.open("rb")):
            with pytest.raises(FileNotFoundError):
                call()
        missing.unlink(missing_ok=True)

    def test_removed_file_is_gone(self, folder: StatePath):
        write_durably(folder / "x", b"")
        (folder / "x").unlink()
        assert not (folder / "x").exists()

    def test_paths_are_sorted_by_their_names(self, folder: StatePath):
        for name in ("b", "a", "10"):
            write_durably(folder / name, b"")
        assert [path.name for path in sorted(folder.iterdir())] == ["10", "a", "b"]

    def test_log_continues_after_a_torn_line(self, root: StatePath):
        path = root / "new" / "log"
        first = AppendLog(path)
        first.append(b"one", b"two")
        first.close()
        append_durably(path, b"0000")
        second = AppendLog(path)
        assert list(lines_of(path)) == [b"one", b"two"]
        second.append(b"three")
        second.append(b"four")
        second.close()
        assert list(lines_of(path)) == [b"one", b"two", b"three", b"four"]
        assert list(lines_of(root / "none")) == []

    def test_damaged_line_before_the_end_is_an_error(self, folder: StatePath):
        append_durably(folder / "log", b"no line\n" * 2)
        with pytest.raises(IntegrityError, match="line 1 of"):
            list(lines_of(folder / "log"))

    def test_marker_is_written_once(self, folder: StatePath):
        marker = Marker(folder / "paused")
        assert marker.read() is None
        for _ in range(2):
            marker.write(b"x")
        with pytest.raises(ConflictError):
            marker.write(b"y")
        assert marker.read() == b"x"
        for _ in range(2):
            marker.remove()
        assert marker.read() is None

    def test_marks_of_dead_letters_are_appended(self, folder: StatePath):
        marks = Marks(folder / "topic.replayed")
        for at_ms in (1, 2):
            marks.add({"0:7": Mark(ReplayOutcome.REPLAYED, at_ms, "")})
        assert marks.load() == {"0:7": Mark(ReplayOutcome.REPLAYED, 2, "")}

    def test_batch_times_of_two_drivers_are_the_same(self, folder: StatePath):
        first = BatchTimes(folder / "times", lambda: 1_000)
        second = BatchTimes(folder / "times", lambda: 2_000)
        assert [first.of(0), second.of(0), second.of(1), first.of(1)] == [1_000, 1_000, 2_000, 2_000]
        assert stored_time(folder / "times", 1) == newest_time(folder / "times") == 2_000

    def test_lease_passes_to_the_next_owner(self, folder: StatePath):
        register = StateRegister(folder / "lock")
        killed = left_lease(register)
        with Lease(register, what="", hint="", timing=Timing(valid_s=0.6)) as lease:
            lease.renew()
            lease.check()
            with pytest.raises(ConflictError, match="has taken it"):
                require_grant(register, killed)
        assert not lease.is_held()
