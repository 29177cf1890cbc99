"""`attr2hbase dead-letters replay` of files that could not be read."""

import gzip
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from ingest.api import Record
from ingest.dead_letters import buffer
from ingest.dead_letters.envelope import DeadLetter, PlaceRange
from ingest.dead_letters.files import FileDeadLetters
from sinks.owning.owned_tables import OwnedTables
from tests.support.update_pipeline import BATCH_MS, Pipeline

WHOLE = gzip.compress(b"1:2\n3:4\n# note\n5:6\n", mtime=0)


def letter(path: Path, first: int = 0, end: int | None = None, batch_time_ms: int = 5_000, **fields) -> bytes:
    values = {
        "record": Record(str(path), 0, first, b"", None, 500, ()),
        "by_place": PlaceRange(end),
        "fan_out": 0,
        "attributes": {},
        "pipeline": "ticks",
        "component": "source",
        "code": "damaged_file",
        "message": "it is truncated",
        "batch_time_ms": batch_time_ms,
        "fingerprint": "f",
    }
    return DeadLetter(**(values | fields)).to_json()


@pytest.fixture
def queue(pipeline: Path) -> FileDeadLetters:
    return FileDeadLetters(pipeline / "data" / "state", "ticks")


@pytest.fixture
def path(pipeline: Path) -> Path:
    return pipeline / "ticks" / "a.gz"


def replay(ingest, *options: str):
    return ingest("dead-letters", "replay", *options, "--output", "json")


def rows(ingest) -> list[str]:
    return [line["row"] for line in ingest("scan", "mytable", "--output", "json").lines]


def test_repaired_file_is_read_as_a_whole_at_the_time_before_its_batch(ingest, queue, path):
    queue.publish([letter(path)], 3, 5_000)
    path.write_bytes(WHOLE)
    report = replay(ingest)
    assert (report.code, report.json["replayed"], report.json["dropped"]) == (0, 1, {"comment": 1})
    assert rows(ingest) == ["a.gz:000000", "a.gz:000004", "a.gz:000015"]
    scanned = ingest("scan", "mytable", "--output", "json").lines
    times = {cell[2] for line in scanned for cell in line["cells"]}
    assert times == {4_999}
    assert replay(ingest).json["selected"] == 0


@pytest.mark.parametrize("content", [WHOLE[:-9], None], ids=["damaged", "gone"])
def test_file_that_still_cannot_be_read_stays(ingest, queue, path, content):
    """Nothing of it is read, although its first lines could be."""
    queue.publish([letter(path)], 3, 5_000)
    if content is not None:
        path.write_bytes(content)
    report = replay(ingest)
    code = "removed_file" if content is None else "damaged_file"
    assert (report.code, report.json["failed_again"]) == (1, {code: 1})
    assert rows(ingest) == []
    path.write_bytes(WHOLE)
    assert replay(ingest).json["replayed"] == 1
    assert len(rows(ingest)) == 3


def test_file_that_is_none_of_the_source_is_not_read(ingest, queue, pipeline):
    """A dead letter may come from a topic, which others can write to."""
    (pipeline / "secret").write_text("1:2\n")
    queue.publish([letter(pipeline / "secret")], 3, 5_000)
    assert replay(ingest).json["failed_again"] == {"removed_file": 1}
    assert rows(ingest) == []


def test_lines_of_a_range_are_read(ingest, queue, pipeline):
    path = pipeline / "ticks" / "a"
    path.write_bytes(b"1:2\n3:4\n5:6\n7:8\n")
    queue.publish([letter(path, 3, 9)], 3, 5_000)
    assert replay(ingest).json["replayed"] == 1
    assert rows(ingest) == ["a:000004", "a:000008"]


def test_lines_that_fail_have_dead_letters_of_their_own(ingest, queue, path):
    queue.publish([letter(path)], 3, 5_000)
    path.write_bytes(gzip.compress(b"bad\n1:2\nworse\n"))
    report = replay(ingest)
    assert (report.code, report.json["replayed"]) == (1, 1)
    assert report.json["published"] == {"no_match": 2}
    assert rows(ingest) == ["a.gz:000004"]
    unreplayed = [entry.dead_letter for entry in queue.entries() if not entry.is_replayed]
    assert [(each.record.offset, each.record.value, each.batch_time_ms) for each in unreplayed] == [
        (0, b"bad", 4_999),
        (8, b"worse", 4_999),
    ]
    # another replay of the file replaces them
    path.write_bytes(gzip.compress(b"bad\n1:2\n3:4\n"))
    assert replay(ingest, "--all", "--code", "damaged_file").json["published"] == {"no_match": 1}
    assert [entry.dead_letter.record.offset for entry in queue.entries() if not entry.is_replayed] == [0]
    assert rows(ingest) == ["a.gz:000004", "a.gz:000008"]


def test_a_later_dead_letter_of_the_same_place_runs_alone(ingest, queue, path):
    queue.publish([letter(path)], 3, 5_000)
    queue.publish([letter(path, batch_time_ms=6_000), letter(path, 40, batch_time_ms=6_000)], 4, 6_000)
    path.write_bytes(WHOLE)
    report = replay(ingest).json
    assert (report["selected"], report["replayed"], report["skipped"]) == (3, 2, {"superseded": 1})
    assert replay(ingest).json["selected"] == 0
    queue.publish([letter(path)], 3, 5_000)
    assert "a later dead letter has the same place" in ingest("dead-letters", "replay", "--all").err


def test_other_dead_letters_of_the_batch_run_too(ingest, queue, path, pipeline):
    other = DeadLetter.from_json(letter(pipeline / "ticks" / "b", 9))
    line = other.to_json().replace(b'"format":3', b'"format":1').replace(b'"value":null', b'"value":"7:8"')
    queue.publish([letter(path), line], 3, 5_000)
    path.write_bytes(WHOLE)
    assert replay(ingest).json["replayed"] == 2
    assert rows(ingest) == ["a.gz:000000", "a.gz:000004", "a.gz:000015", "b:000009"]


def test_lines_are_counted_once_in_deferred_updates(ingest, folder):
    """Each of the two sinks gets the lines in a micro-batch of its own."""
    updated = Pipeline(folder)
    content = json.loads((folder / "p.yaml").read_text())
    content["pipelines"]["p"]["source"] = {"files": {"path": str(folder / "in")}}
    (folder / "in").mkdir()
    path = folder / "in" / "a.gz"
    path.write_bytes(gzip.compress(b"2\n3\nmany\n"))
    found = DeadLetter.from_json(letter(path, batch_time_ms=BATCH_MS))
    queue = FileDeadLetters(folder / "state", "p")
    queue.publish([replace(found, pipeline="p").to_json()], 0, BATCH_MS)

    def run(*options: str):
        (folder / "p.yaml").write_text(json.dumps(content))
        return ingest("dead-letters", "replay", "-f", "p.yaml", *options, "--output", "json").json

    report = run()
    assert (report["replayed"], report["published"]) == (1, {"not_a_number": 1})
    assert sorted(value for _, value in updated.updates()) == [b"5"]
    assert {value for _, value in updated.values()} == {b"many"}
    again = run("--all", "--code", "damaged_file")
    assert (again["replayed"], again["skipped"]) == (1, {}), "into the plain table"
    assert sorted(value for _, value in updated.updates()) == [b"5"]


class TestCountersOfFilesThatChange:
    """Path and offset identify a line, whatever the micro-batch that found its file changed."""

    @pytest.fixture
    def updated(self, folder: Path) -> Pipeline:
        (folder / "in").mkdir()
        return Pipeline(folder)

    @pytest.fixture
    def add(self, folder: Path):
        def add(name: str, number: int, span: PlaceRange, first: int = 0) -> None:
            found = letter(folder / "in" / name, first, batch_time_ms=BATCH_MS + number, by_place=span, pipeline="p")
            FileDeadLetters(folder / "state", "p").publish([found], number, BATCH_MS + number)

        return add

    @pytest.fixture
    def run(self, ingest, folder: Path, updated: Pipeline):
        def run(*options: str):
            content = json.loads((folder / "p.yaml").read_text())
            content["pipelines"]["p"]["source"] = {"files": {"path": str(folder / "in")}}
            (folder / "p.yaml").write_text(json.dumps(content))
            return ingest("dead-letters", "replay", "-f", "p.yaml", *options, "--output", "json")

        return run

    def total(self, updated: Pipeline) -> int:
        return sum(int(value) for _, value in updated.updates())

    def test_a_repaired_file_that_a_run_finds_changed_later(self, folder: Path, updated, add, run):
        (folder / "in" / "a.gz").write_bytes(gzip.compress(b"2\n3\n"))
        add("a.gz", 0, PlaceRange(None))
        assert (run().json["replayed"], self.total(updated)) == (1, 5)
        add("a.gz", 5, PlaceRange(None))
        assert (run().json["replayed"], self.total(updated)) == (1, 5), "into the plain table"
        assert len(updated.values()) > 0

    @pytest.mark.parametrize("name", ["a", "a.gz"])
    def test_a_file_that_grows_twice(self, folder: Path, updated, add, run, name):
        """Without an end, the second dead letter has the lines of the first one, too."""
        pack = gzip.compress if name == "a.gz" else bytes
        path = folder / "in" / name
        path.write_bytes(pack(b"100\n") + pack(b"2\n"))
        add(name, 0, PlaceRange(None), first=4)
        assert (run().json["replayed"], self.total(updated)) == (1, 2)
        path.write_bytes(path.read_bytes() + pack(b"3\n"))
        add(name, 5, PlaceRange(None), first=4)
        assert (run().json["replayed"], self.total(updated)) == (1, 5)
        assert (run("--all").json["replayed"], self.total(updated)) == (1, 5), "the first one is superseded"

    def test_lines_that_were_read_before_are_counted_on_request_only(self, folder: Path, updated, add, run):
        (folder / "in" / "a").write_bytes(b"2\n3\n")
        add("a", 0, PlaceRange(None, read_before=True))
        refused = run()
        assert (refused.code, self.total(updated), updated.values()) == (4, 0, [])
        assert '"code":"read_before"' in refused.err
        assert (run("--recount").json["replayed"], self.total(updated)) == (1, 5)
        add("a", 5, PlaceRange(None, read_before=True))
        assert (run().json["replayed"], self.total(updated)) == (1, 5), "a replay has counted them"

    def test_a_line_that_may_go_on_is_awaited(self, folder: Path, updated, add, run):
        path = folder / "in" / "a"
        path.write_bytes(b"2\n3")
        add("a", 0, PlaceRange(None))
        assert (run().json["failed_again"], self.total(updated)) == ({"changed_file": 1}, 0)
        path.write_bytes(b"2\n34\n")
        assert (run().json["replayed"], self.total(updated)) == (1, 36)


def test_lines_that_fail_before_several_sinks_have_one_dead_letter_at_the_time_before_their_batch(ingest, folder):
    """So another replay writes their values at such a time, and hides no newer ones."""
    updated = Pipeline(folder)
    content = json.loads((folder / "p.yaml").read_text())
    pipeline = content["pipelines"]["p"]
    pipeline["source"] = {"files": {"path": str(folder / "in")}}
    check = {"regex": {"pattern": "(?P<n>^2)", "on_no_match": "error"}}
    pipeline["decorators"].insert(0, check)
    (folder / "in").mkdir()
    path = folder / "in" / "a.gz"
    path.write_bytes(gzip.compress(b"2\n3\n"))
    found = DeadLetter.from_json(letter(path, batch_time_ms=BATCH_MS))
    queue = FileDeadLetters(folder / "state", "p")
    queue.publish([replace(found, pipeline="p").to_json()], 0, BATCH_MS)

    def run():
        (folder / "p.yaml").write_text(json.dumps(content))
        return ingest("dead-letters", "replay", "-f", "p.yaml", "--output", "json").json

    assert run()["published"] == {"no_match": 1}
    assert [each.dead_letter.batch_time_ms for each in queue.entries() if not each.is_replayed] == [BATCH_MS - 1]
    pipeline["decorators"].remove(check)
    assert run()["replayed"] == 1
    assert updated.values() == [(BATCH_MS - 1, b"2")], "of the same row"
    assert sorted(value for _, value in updated.updates()) == [b"2", b"3"]


class TestLinesThatWereRead:
    """All of them failed, and their dead letters have their places in place of bytes."""

    @pytest.fixture(params=["a", "a.gz"])
    def path(self, pipeline: Path, request: pytest.FixtureRequest) -> Path:
        path: Path = pipeline / "ticks" / request.param
        content = b"1:2\n3:4\n5:6\n7:8\n9:0\n"
        path.write_bytes(gzip.compress(content) if request.param == "a.gz" else content)
        os.utime(path, (0.5, 0.5))
        return path

    def failed(self, path: Path, first: int, end: int, **fields) -> bytes:
        return letter(path, first, end, by_place=PlaceRange(end, was_read=True), **fields)

    def test_lines_of_the_places_are_read(self, ingest, queue, path):
        queue.publish([self.failed(path, 4, 9), self.failed(path, 16, 17)], 3, 5_000)
        assert replay(ingest).json["replayed"] == 2
        assert rows(ingest) == [f"{path.name}:{offset:06}" for offset in (4, 8, 16)]

    def test_lines_of_a_file_that_has_changed_stay(self, ingest, queue, path):
        """There are other lines at these places, perhaps."""
        queue.publish([self.failed(path, 4, 9)], 3, 5_000)
        os.utime(path, (1, 1))
        report = replay(ingest)
        assert (report.code, report.json["failed_again"], rows(ingest)) == (1, {"changed_file": 1}, [])
        os.utime(path, (0.5, 0.5))
        assert replay(ingest).json["replayed"] == 1

    def test_lines_that_fail_again_have_places_if_they_are_too_large(self, ingest, queue, path, monkeypatch):
        """And so on, until the pipeline is right."""
        monkeypatch.setattr(buffer, "MAX_DEAD_LETTER_BYTES", 1)
        content = b"1:2\nbad\nbad\n7:8\nbad\n"
        path.write_bytes(gzip.compress(content) if path.suffix else content)
        os.utime(path, (0.5, 0.5))
        queue.publish([self.failed(path, 0, 17)], 3, 5_000)
        report = replay(ingest)
        assert (report.code, report.json["replayed"], report.json["published"]) == (1, 1, {"no_match": 2})
        found = [entry.dead_letter for entry in queue.entries() if not entry.is_replayed]
        assert [(each.record.offset, each.by_place, each.events, each.batch_time_ms) for each in found] == [
            (4, PlaceRange(9, was_read=True), 2, 4_999),
            (16, PlaceRange(17, was_read=True), 1, 4_999),
        ]
        path.write_bytes(
            gzip.compress(content.replace(b"bad", b"3:4")) if path.suffix else content.replace(b"bad", b"3:4")
        )
        os.utime(path, (0.5, 0.5))
        assert replay(ingest).json["replayed"] == 2
        assert len(rows(ingest)) == 5

    def test_list_and_show_say_that_the_bytes_are_missing(self, ingest, queue, path):
        queue.publish([self.failed(path, 4, 9, events=2)], 3, 5_000)
        (entry,) = queue.entries()
        assert "/0/4 (2 records) up to offset 9" in ingest("dead-letters", "list").out
        shown = ingest("dead-letters", "show", entry.position).out
        assert "without bytes  from offset 4 up to offset 9" in shown
        assert "not read" not in shown
        listed = ingest("dead-letters", "list", "--output", "json").json
        assert listed["unread"] == {"end": 9, "was_read": True}


class TestSinks:
    """Places in a pipeline that counts bodies in one table and writes them to another."""

    @pytest.fixture
    def updated(self, folder: Path) -> Pipeline:
        return Pipeline(folder)

    @pytest.fixture
    def queue(self, folder: Path) -> FileDeadLetters:
        return FileDeadLetters(folder / "state", "p")

    @pytest.fixture
    def run(self, ingest, folder: Path, updated: Pipeline):
        content = json.loads((folder / "p.yaml").read_text())
        content["pipelines"]["p"]["source"] = {"files": {"path": str(folder / "in")}}
        (folder / "in").mkdir()
        path = folder / "in" / "a"

        def run(text: bytes | None, *options: str, decorators: tuple[object, ...] = ()):
            if text is None:
                path.unlink()
            else:
                path.write_bytes(text)
                os.utime(path, (0.5, 0.5))
            changed = json.loads(json.dumps(content))
            changed["pipelines"]["p"]["decorators"][:0] = decorators
            (folder / "p.yaml").write_text(json.dumps(changed))
            return ingest("dead-letters", "replay", "-f", "p.yaml", *options, "--output", "json").json

        return run

    @pytest.fixture
    def publish(self, queue: FileDeadLetters, folder: Path):
        def publish(first: int, end: int, component: str) -> bytes:
            unread = PlaceRange(end, was_read=True)
            path = folder / "in" / "a"
            return letter(path, first, end, BATCH_MS, by_place=unread, component=component, pipeline="p", code="no")

        return lambda *letters: queue.publish([publish(*each) for each in letters], 0, BATCH_MS)

    @pytest.mark.parametrize(
        ("component", "counted", "written"),
        [("counts", [b"5"], set()), ("values", [], {b"2", b"3"}), ("json", [b"5"], {b"2", b"3"})],
    )
    def test_place_of_a_sink_runs_into_that_sink_only(self, updated, publish, run, component, counted, written):
        publish((0, 3, component))
        assert run(b"2\n3\n4\n")["replayed"] == 1
        assert [value for _, value in updated.updates()] == counted
        assert {value for _, value in updated.values()} <= written
        assert bool(updated.values()) == bool(written)

    def test_records_that_fail_before_the_sinks_again_are_still_of_their_sink(self, updated, publish, queue, run):
        """The other one has them."""
        publish((0, 3, "counts"))
        check = {"regex": {"pattern": "(?P<n>^2)", "on_no_match": "error"}}
        assert run(b"2\n3\n", decorators=(check,))["published"] == {"no_match": 1}
        again = [entry.dead_letter for entry in queue.entries() if not entry.is_replayed]
        assert [(each.component, each.record.value) for each in again] == [("counts", b"3")]
        assert run(b"2\n3\n")["replayed"] == 1
        assert (sorted(value for _, value in updated.updates()), updated.values()) == ([b"2", b"3"], [])

    def test_lines_are_counted_once(self, updated, publish, run):
        publish((0, 1, "counts"), (2, 5, "json"))
        assert run(b"2\n3\n4\n")["replayed"] == 2
        assert sum(int(value) for _, value in updated.updates()) == 9
        again = run(b"2\n3\n4\n", "--all")
        assert (again["skipped"], again["replayed"]) == ({"counted": 1}, 1)
        assert sum(int(value) for _, value in updated.updates()) == 9

    def test_replay_that_was_killed_before_its_marks_runs_before_what_it_has_published(
        self, updated, publish, queue, run, monkeypatch
    ):
        publish((0, 9, "counts"))
        lines = b"2\nmany\n4\n"

        def killed(_queue: FileDeadLetters, _marks: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as kill:
            kill.setattr(FileDeadLetters, "mark", killed)
            with pytest.raises(json.JSONDecodeError):
                run(lines)
        assert [entry.dead_letter.batch_time_ms for entry in queue.entries()] == [BATCH_MS - 1, BATCH_MS]
        report = run(lines)
        assert (report["replayed"], report["published"]) == (1, {"not_a_number": 1})
        assert [value for _, value in updated.updates()] == [b"6"]
        assert run(lines)["failed_again"] == {"not_a_number": 1}

    def test_lines_of_a_file_that_is_removed_after_a_kill_and_restored_are_counted_once(
        self, updated, publish, run, monkeypatch
    ):
        publish((0, 5, "counts"))

        def killed(_tables: OwnedTables, _committed: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as kill:
            kill.setattr(OwnedTables, "move", killed)
            with pytest.raises(json.JSONDecodeError):
                run(b"2\n3\n4\n")
        assert [value for _, value in updated.updates()] == [b"9"]
        assert run(None)["failed_again"] == {"removed_file": 1}
        assert updated.updates() == []
        assert run(b"2\n3\n4\n")["replayed"] == 1
        assert [value for _, value in updated.updates()] == [b"9"]

    def test_records_of_places_that_fail_in_several_ways_are_counted_once(self, updated, publish, run, monkeypatch):
        """The sinks get the records one after the other, and each finds places of its own."""
        publish((0, 15, "json"))
        check = {"regex": {"pattern": "(?P<n>^[m0-9])", "on_no_match": "error"}}
        with monkeypatch.context() as small:
            small.setattr(buffer, "MAX_DEAD_LETTER_BYTES", 1)
            report = run(b"many\nbad\nbad\n5\n", decorators=(check,))
        assert report["replayed"] == 1
        run(b"0001\n002\n004\n5\n")
        assert sum(int(value) for _, value in updated.updates()) == 12
