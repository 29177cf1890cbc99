"""Commands for dead letters whose values are in a blob store."""

import hashlib
import shutil
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from ingest.catalog import Catalog
from ingest.clock import now_ms
from ingest.config import load
from ingest.config.model import Configuration
from ingest.dead_letters.envelope import DeadLetter
from ingest.dead_letters.files import folder_of
from ingest.dead_letters.kafka import KafkaDeadLetters
from ingest.dead_letters.queue import Entry, Mark, ReplayOutcome
from ingest.pipeline.in_process import InProcessHost
from ingest.service.dead_letters.blobs import OpenDeadLetterBlobs
from ingest.service.dead_letters.queues import dead_letter_queue
from ingest.service.dead_letters.references import DeadLetterReferences
from ingest.service.replay_lock import replay_lock
from ingest.spark.state import checkpoint_folder
from ingest.spark.streaming.checkpoint import Checkpoint
from sinks.blobs.blob_store import BlobStore
from tests.support.dead_letter_topic import Topic
from tests.support.killed_stores import KilledError
from tests.support.large_dead_letters import publish, references, run, written

LARGE, OTHER = b"l" * 2_500, b"o" * 2_000
SMALL = b"s" * 10
ID = hashlib.sha256(LARGE).hexdigest()
FILE = "p.yaml"
ALL = {"when": "%{body} == ''"}
"""Refuses nothing."""


@pytest.fixture
def configuration(folder: Path) -> Configuration:
    return written(folder)


@pytest.fixture
def letters(configuration: Configuration) -> list[DeadLetter]:
    """Published dead letters of two large records and a small one."""
    letters, _ = run(configuration, 1_000, LARGE, SMALL, OTHER)
    publish(configuration, 1_000, letters)
    return letters


def corrected(folder: Path) -> None:
    """Write the pipeline that refuses only the third record."""
    written(folder, first={"json": {"when": "%{offset} == 2"}})


def killed(*_arguments: object) -> None:
    """The process is killed at this call."""
    raise KilledError


def entries(configuration: Configuration) -> list[Entry]:
    with closing(dead_letter_queue(configuration, configuration.pipelines["p"])) as queue:
        return list(queue.entries())


def positions(configuration: Configuration) -> list[str]:
    return [entry.position for entry in entries(configuration)]


def test_list_shows_length_and_the_whole_id(ingest, configuration, letters):
    shown = ingest("dead-letters", "list", "-f", FILE).out
    assert f"in/a.log/0/0 (2,500 bytes, blob {ID})" in shown
    assert "in/a.log/0/1 " in shown
    found = ingest("dead-letters", "list", "-f", FILE, "--output", "json").lines
    assert [line.get("blob") for line in found][:2] == [{"table": "events", "id": ID, "length": 2_500}, None]
    assert [line["record"]["value"] for line in found] == [None, SMALL.decode(), None]


def test_show_has_the_id_and_the_command_that_reads_the_blob(ingest, configuration, letters):
    position = positions(configuration)[0]
    result = ingest("dead-letters", "show", "-f", FILE, position)
    assert f'value      2,500 bytes: blob {ID} of table "events"' in result.out
    (command,) = (line for line in result.err.splitlines() if "attr2hbase blob get" in line)
    assert ingest(*command.partition("attr2hbase ")[2].replace("PATH", "copy").split()).code == 0
    assert Path("copy").read_bytes() == LARGE
    assert f"show -f {FILE} {position} --blob --output json | attr2hbase explain" in result.err


def test_show_with_blob_is_what_explain_reads(ingest, folder, configuration, letters):
    position = positions(configuration)[0]
    assert LARGE.decode() in ingest("dead-letters", "show", "-f", FILE, position, "--blob").out
    corrected(folder)
    shown = ingest("dead-letters", "show", "-f", FILE, position, "--output", "json", "--blob")
    Path("one.jsonl").write_text(shown.out)
    assert (shown.err, ingest("explain", FILE, "--events", "one.jsonl").code) == ("", 0)


def test_explain_without_the_value_names_the_command_that_prints_it(ingest, configuration, letters):
    position = positions(configuration)[0]
    shown = ingest("dead-letters", "show", "-f", FILE, position, "--output", "json")
    assert f"'attr2hbase dead-letters show -f {FILE} {position} --blob --output json' has it" in shown.err
    Path("one.jsonl").write_text(shown.out)
    refused = ingest("explain", FILE, "--events", "one.jsonl")
    assert refused.code == 2
    assert 'one.jsonl:1:1: missing-field: the value of the record is in the blob store of table "events"' in refused.err
    assert "'attr2hbase dead-letters show POSITION --blob --output json | attr2hbase explain" in refused.err


def test_replay_writes_the_values_and_releases_the_blobs(ingest, folder, configuration, letters):
    assert references(configuration) == {letters[0].blob_reference, letters[2].blob_reference}
    corrected(folder)
    result = ingest("dead-letters", "replay", "-f", FILE, "--output", "json")
    assert (result.code, result.json["replayed"], result.json["failed_again"]) == (1, 2, {"bad_json": 1})
    rows = ingest("scan", "-f", FILE, "events", "--blobs", "--output", "json").lines
    assert {row["row"]: row["cells"][0][3] for row in rows} == {"0": LARGE.decode(), "1": SMALL.decode()}
    assert references(configuration) == {letters[2].blob_reference}
    written(folder, first={"json": ALL})
    assert ingest("dead-letters", "replay", "-f", FILE).code == 0
    assert ingest("get", "-f", FILE, "events", "2", "--blobs", "--output", "json").json["cells"][0][3] == OTHER.decode()
    assert references(configuration) == set()


def test_values_are_read_one_at_a_time(ingest, folder, configuration, letters, monkeypatch):
    read, seen = OpenDeadLetterBlobs.read, []
    run_tasks = InProcessHost.run_tasks

    def watched(self, spec, **options):
        receipts = run_tasks(self, spec, **options)
        seen.append([record.value for record in self._records._records])
        return receipts

    monkeypatch.setattr(InProcessHost, "run_tasks", watched)
    monkeypatch.setattr(OpenDeadLetterBlobs, "read", lambda self, blob: (seen.append(blob.length), read(self, blob))[1])
    written(folder, first={"json": ALL})
    assert ingest("dead-letters", "replay", "-f", FILE).code == 0
    assert seen == [2_500, 2_000, [None, SMALL, None]]


def test_dead_letter_that_fails_again_after_a_replay_keeps_its_blob(ingest, folder, configuration, letters):
    written(folder, first={"json": ALL})
    assert ingest("dead-letters", "replay", "-f", FILE).code == 0
    assert references(configuration) == set()
    written(folder)
    assert ingest("dead-letters", "replay", "-f", FILE, "--all").code == 1
    assert references(configuration) == {letters[0].blob_reference, letters[2].blob_reference}


def test_replay_that_is_killed_before_it_releases_a_blob(ingest, folder, configuration, letters, monkeypatch):
    written(folder, first={"json": ALL})
    with monkeypatch.context() as patched:
        patched.setattr(BlobStore, "unpin", killed)
        with pytest.raises(KilledError):
            ingest("dead-letters", "replay", "-f", FILE)
    assert {entry.mark.outcome for entry in entries(configuration)} == {ReplayOutcome.REPLAYED}
    assert len(references(configuration)) == 2
    assert ingest("admin", "dead-letters", "purge", "-f", FILE, "--replayed", "--yes").code == 0
    assert references(configuration) == set()


def test_dead_letter_without_its_blob_is_skipped(ingest, folder, configuration, letters):
    publish(configuration, 1_000, [replace(letters[0], blob=letters[0].blob._replace(id="ab" * 32)), *letters[1:]])
    written(folder, first={"json": ALL})
    result = ingest("dead-letters", "replay", "-f", FILE)
    assert result.code == 1
    assert "skipped: 1 dead letter, because the values of their records are not in the blob store" in result.err
    assert [entry.mark is None for entry in entries(configuration)] == [True, False, False]


class TestTwoDeadLettersOfOneEvent:
    """Two replays of ranges have run the same part of a micro-batch: their dead letters share a reference."""

    @pytest.fixture
    def shared(self, configuration: Configuration) -> bytes:
        """The reference; the dead letters have different codes, because the pipeline was changed in between."""
        (letter,), _ = run(configuration, 999, LARGE)
        queue = dead_letter_queue(configuration, configuration.pipelines["p"])
        for number, code in enumerate(("bad_json", "other")):
            queue.publish([replace(letter, code=code).to_json()], 1_000_000_000 + number, 999)
        return letter.blob_reference

    @pytest.mark.parametrize("index", [0, 1])
    def test_replay_of_one_keeps_the_blob_of_the_other(self, ingest, folder, configuration, shared, index):
        written(folder, first={"json": ALL})
        found = positions(configuration)
        assert ingest("dead-letters", "replay", "-f", FILE, found[index]).code == 0
        assert references(configuration) == {shared}
        assert ingest("dead-letters", "replay", "-f", FILE, found[1 - index]).code == 0
        assert references(configuration) == set()

    def test_replay_of_both_releases_the_blob(self, ingest, folder, configuration, shared):
        written(folder, first={"json": ALL})
        assert ingest("dead-letters", "replay", "-f", FILE).code == 0
        assert references(configuration) == set()

    def test_purge_of_one_keeps_the_blob_of_the_other(self, ingest, configuration, shared):
        options = ["--before", "2000-01-01", "--yes"]
        assert ingest("admin", "dead-letters", "purge", "-f", FILE, "--code", "other", *options).code == 0
        assert references(configuration) == {shared}
        assert ingest("admin", "dead-letters", "purge", "-f", FILE, *options).code == 0
        assert references(configuration) == set()

    def test_purge_after_both_were_replayed(self, ingest, folder, configuration, shared, monkeypatch):
        written(folder, first={"json": ALL})
        with monkeypatch.context() as patched:
            patched.setattr(BlobStore, "unpin", killed)
            with pytest.raises(KilledError):
                ingest("dead-letters", "replay", "-f", FILE)
        found = ingest(
            "admin",
            "dead-letters",
            "purge",
            "-f",
            FILE,
            "--replayed",
            "--code",
            "other",
            "--before",
            "2000-01-01",
            "--yes",
        )
        assert found.code == 0
        assert references(configuration) == set()


@pytest.mark.parametrize("is_replayed", [True, False], ids=["replayed", "waiting"])
def test_purge_releases_the_blobs(ingest, folder, configuration, letters, is_replayed):
    options = ["--before", "2000-01-01"]
    if is_replayed:
        corrected(folder)
        ingest("dead-letters", "replay", "-f", FILE)
        options = ["--replayed"]
    assert ingest("admin", "dead-letters", "purge", "-f", FILE, *options, "--dry-run").code == 0
    assert letters[2].blob_reference in references(configuration)
    assert ingest("admin", "dead-letters", "purge", "-f", FILE, *options, "--yes").code == 0
    assert references(configuration) == ({letters[2].blob_reference} if is_replayed else set())
    assert len(positions(configuration)) == is_replayed


def test_purge_is_refused_while_another_process_writes_the_store(ingest, configuration, letters):
    with closing(Catalog().load("stores", "rocksdb")(configuration.stores["s"].settings)) as store:
        store.open()
        result = ingest("admin", "dead-letters", "purge", "-f", FILE, "--before", "2000-01-01", "--yes")
        assert result.code == 4
        assert 'large dead letters are in the blob store of table "events"' in result.err
        assert "stop the service" in result.err
    assert len(positions(configuration)) == 3
    assert len(references(configuration)) == 2


def test_dead_letters_of_a_table_that_is_not_declared_any_more_can_be_purged(ingest, folder, configuration, letters):
    written(folder, ("plain",), {"plain": {"families": {"f": {}}}})
    assert ingest("admin", "dead-letters", "purge", "-f", FILE, "--before", "2000-01-01", "--yes").code == 0
    assert positions(configuration) == []


class TestFsck:
    """References that no dead letter needs."""

    @pytest.fixture
    def old(self, configuration: Configuration, letters: list[DeadLetter], monkeypatch: pytest.MonkeyPatch) -> None:
        """The references are older than `sweep_after`, and the second large dead letter was lost."""
        publish(configuration, 1_000, letters[:2])
        later_ms = now_ms() + 25 * 3_600_000
        monkeypatch.setattr(
            BlobStore.__init__, "__kwdefaults__", BlobStore.__init__.__kwdefaults__ | {"clock_ms": lambda: later_ms}
        )

    @pytest.fixture
    def checkpoint(self, configuration: Configuration, old: None) -> Checkpoint:
        """The pipeline has run."""
        folder = checkpoint_folder(configuration, "p")
        (folder / "offsets").mkdir(parents=True)
        (folder / "offsets" / "0").write_text("v1")
        return Checkpoint(folder)

    def found(self, ingest, *options: str) -> list[tuple[str, str]]:
        result = ingest("admin", "blob", "check", "-f", FILE, "events", "--output", "json", *options)
        assert result.code == 0, result.err
        found = result.json["findings"]
        assert (result.json["damaged"], result.json["others"]) == (0, len(found))
        return [(each["kind"], each["detail"]) for each in found]

    UNNEEDED = ("unneeded_reference", 'reference "dead-letter/p/1000/in/a.log/0/2/0/json"')

    def test_unneeded_reference_is_removed(self, ingest, configuration, letters, checkpoint):
        assert self.found(ingest) == [self.UNNEEDED]
        assert len(references(configuration)) == 2
        assert self.found(ingest, "--repair") == [self.UNNEEDED]
        assert references(configuration) == {letters[0].blob_reference}
        assert self.found(ingest) == []

    def test_reference_of_a_replayed_dead_letter_is_unneeded(self, ingest, folder, configuration, letters, checkpoint):
        queue = dead_letter_queue(configuration, configuration.pipelines["p"])
        queue.mark({next(queue.entries()).position: Mark(ReplayOutcome.FAILED_AGAIN, 1, "x")})
        assert self.found(ingest) == [self.UNNEEDED]
        queue.mark({next(queue.entries()).position: Mark(ReplayOutcome.REPLAYED, 2)})
        assert len(self.found(ingest, "--repair")) == 2
        assert references(configuration) == set()

    def test_reference_of_a_running_pipeline_stays(self, ingest, configuration, checkpoint):
        checkpoint.lock()
        try:
            assert self.found(ingest, "--repair") == [self.UNNEEDED]
        finally:
            checkpoint.unlock()
        assert len(references(configuration)) == 2

    def test_running_replay_does_not_keep_its_pipeline_from_starting(self, configuration, letters, checkpoint):
        pipeline = configuration.pipelines["p"]
        with replay_lock(configuration, pipeline), DeadLetterReferences(configuration, is_repair=True) as found:
            assert found.is_unneeded(letters[1].blob_reference)
            assert not found.may_remove(letters[1].blob_reference)
            assert not checkpoint.is_locked()

    @pytest.mark.parametrize("is_published", [True, False])
    def test_references_of_dead_letters_in_an_earlier_topic_stay(
        self, ingest, configuration, letters, checkpoint, is_published
    ):
        """The file has named a topic before; its dead letters with blobs wait there."""
        topic = Topic()
        queue = KafkaDeadLetters(
            topic.name,
            pipeline="p",
            state=configuration.local_dir,
            admin=lambda: topic,
            producer=lambda: topic,
            reader=lambda: topic,
        )
        queue.publish([each.to_json() for each in (letters[1:] if is_published else letters[1:2])], 2, 1_000)
        result = ingest("admin", "blob", "check", "-f", FILE, "events", "--repair")
        assert ('may wait in its earlier topic "dead"' in result.err) == is_published
        assert (letters[2].blob_reference in references(configuration)) == is_published
        if is_published:
            (folder_of(configuration.local_dir, "p") / "topics").write_text("")
            assert self.found(ingest) == [self.UNNEEDED]

    def test_references_of_another_state_stay(self, ingest, folder, configuration, letters, checkpoint):
        """The service was moved to another machine, or a second one has a pipeline of the same name."""
        elsewhere = Path(FILE).read_text().replace(str(folder / "state"), str(folder / "other"))
        Path("other.yaml").write_text(elsewhere)
        there = checkpoint_folder(load("other.yaml", env={}, lookup=Catalog()), "p")
        shutil.copytree(checkpoint.folder, there)
        result = ingest("admin", "blob", "check", "-f", "other.yaml", "events", "--repair", "--output", "json")
        assert {each["kind"] for each in result.json["findings"]} == {"unknown_reference"}
        counts = {name: result.json[name] for name in ("blobs", "blocks", "damaged", "others")}
        assert counts == {"blobs": 2, "blocks": 2, "damaged": 0, "others": 2}
        assert references(configuration) == {letters[0].blob_reference, letters[2].blob_reference}

    def test_without_the_state_of_the_pipeline_all_references_stay(self, ingest, configuration, old):
        assert self.found(ingest, "--repair") == []
        assert len(references(configuration)) == 2


def test_young_reference_is_not_reported(ingest, configuration, letters):
    folder = checkpoint_folder(configuration, "p")
    (folder / "offsets").mkdir(parents=True)
    (folder / "offsets" / "0").write_text("v1")
    publish(configuration, 1_000, [])
    shown = ingest("admin", "blob", "check", "-f", FILE, "events", "--repair", "--output", "json")
    assert (shown.json["damaged"], shown.json["others"]) == (0, 0)
    assert len(references(configuration)) == 2
