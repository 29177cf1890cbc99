"""A sink of a plugin meets the contract, and so do the task sink and committer of a store."""

import importlib
import inspect
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ingest.api import (
    Capabilities,
    Committer,
    Event,
    FamilySpec,
    Origin,
    Scan,
    Sink,
    SinkContext,
    SinkResult,
    SinkSettings,
    SinkWriter,
    Store,
    TableSpec,
    TaskSpec,
    WriteCounts,
)
from ingest.testing.sinks import SinkContract, SinkKit
from sinks.archive.layout import ArchiveFormat
from sinks.archive.sink import Archive
from sinks.files.local_root import LocalRoot
from sinks.kafka.sink import Kafka
from sinks.mapping.attr2hbase import Attr2HBase
from sinks.memory import MemoryStore
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from sinks.writing.driver_store import DriverStore
from sinks.writing.families import FamilyRegistry
from sinks.writing.sending import DirectSender
from sinks.writing.staged_committer import StagedCommitter
from sinks.writing.staging import StagingWriter
from sinks.writing.store_committer import StoreCommitter
from sinks.writing.store_sink import StoreSink
from sinks.writing.writer import Writer
from tests.support.archives import bodies_in
from tests.support.kafka_server import KafkaServer
from tests.support.sinks import LINES
from tests.support.way import sink_of

DECLARED = {"t": TableSpec("t", (FamilySpec(b"declared"),))}


def lines_kit(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str = LINES) -> SinkKit:
    folder.mkdir(exist_ok=True)
    (folder / "lining_kit.py").write_text(text)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "lining_kit", raising=False)
    importlib.invalidate_caches()
    lines = importlib.import_module("lining_kit").Lines
    data = folder / "lines"

    return SinkKit(
        lines(lines.settings_class()(path=str(data))),
        folder / "state",
        visible=lambda: [line for file in data.glob("[0-9]*") for line in file.read_bytes().splitlines()],
        seen=lambda event: event.body,
        staged=lambda: list(data.glob(".*/*")),
        refused=Event(b"refused"),
    )


class TestPlugin(SinkContract):
    @pytest.fixture
    def kit(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SinkKit:
        return lines_kit(tmp_path, monkeypatch)


class TestArchive(SinkContract):
    @pytest.fixture(params=list(ArchiveFormat))
    def kit(self, tmp_path: Path, request: pytest.FixtureRequest) -> SinkKit:
        folder = tmp_path / "t"

        def event(number: int) -> Event:
            return Event(b"event %d" % number, {"n": b"%d" % number}, timestamp_ms=1_000)

        return SinkKit(
            Archive(
                Archive.settings_class().model_validate(
                    {
                        "root": str(tmp_path),
                        "table": "t",
                        "format": request.param,
                        "columns": {"body": "%{body}", "n": {"value": "%{n}", "type": "int32"}},
                    }
                )
            ),
            tmp_path / "state",
            visible=lambda: bodies_in(LocalRoot(folder)),
            seen=lambda event: event.body,
            staged=lambda: [path for path in folder.glob("_tmp/**/*") if path.is_file()],
            event=event,
            refused=replace(event(0), attributes={"n": b"x"}),
        )


class TestKafka(SinkContract):
    @pytest.fixture
    def kit(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SinkKit]:
        """Readers read a topic that is compacted: at least once is once for each key."""
        writers: list[SinkWriter] = []
        make = Kafka.writer
        monkeypatch.setattr(Kafka, "writer", lambda sink, context: writers.append(make(sink, context)) or writers[-1])
        server = KafkaServer(lambda _batch: None, {"t": 3})
        options = {"topic": "t", "brokers": f"127.0.0.1:{server.port}", "value": {"template": "%{v}"}}

        def event(number: int) -> Event:
            return Event(b"", {"v": b"%d" % number}, key=b"%d" % number, origin=Origin("s", 0, number))

        yield SinkKit(
            Kafka(Kafka.settings_class().model_validate(options)),
            tmp_path / "state",
            visible=lambda: list({record.key: record.value for record in server.accepted}.values()),
            seen=lambda event: event.attributes["v"],
            event=event,
            refused=Event(b"", key=b"0"),
            writes_at_once=True,
            is_keyed=True,
        )
        for writer in writers:  # also those of killed processes, whose threads would go on here
            writer.close()
        server.close()

    def test_abandoned_flush_cycle_is_discarded(self, kit: SinkKit) -> None:
        pytest.skip("some of its records may be in the topic, before those of the next one")


class StoreWriter(SinkWriter):
    """One sink of a store, with the task sink of that store."""

    def __init__(self, task_sink: StoreSink) -> None:
        self._task_sink = task_sink
        self._writer = Writer(Attr2HBase(Attr2HBase.settings_class().model_validate({"table": "t"})), task_sink)

    def begin(self, spec: TaskSpec, prepared: bytes, counts: WriteCounts) -> None:
        self._task_sink.begin(spec, prepared, counts)

    def write(self, event: Event) -> str | None:
        return self._writer.write(event)

    def split_end(self) -> None:
        self._task_sink.split_end()

    def flush(self) -> SinkResult:
        return self._task_sink.flush()

    def close(self) -> None:
        """The store stays open for the next start."""


class ToStore(Sink[SinkSettings]):
    """Write into a store, as `attr2hbase` does."""

    kind = "to_store"

    def __init__(self, store: Store[Any], capabilities: Capabilities, incoming: Path) -> None:
        super().__init__(SinkSettings())
        self._store = store
        self._capabilities = capabilities
        self._incoming = incoming
        self.driver = DriverStore(store)

    def writer(self, context: SinkContext) -> SinkWriter:
        is_staged = self._capabilities.written_by_driver
        staging = StagingWriter() if is_staged else None
        sender = DirectSender(self._store if staging is None else staging)
        capabilities = self._capabilities
        return StoreWriter(sink_of([sender], "s", capabilities=capabilities, staging=staging))

    def committer(self, context: SinkContext) -> Committer:
        families = FamilyRegistry(self.driver, DECLARED, {None: 20}, {})
        if self._capabilities.written_by_driver:
            return StagedCommitter(self.driver, families, self._incoming)
        return StoreCommitter(self.driver, families)

    def rows(self) -> Iterator[tuple[bytes, bytes]]:
        """Row keys and values of the column `f:q`."""
        with self.driver.held() as store:
            if "t" in store.tables():
                for row in store.scan("t", Scan(versions=10)):
                    yield from ((row.key, cell.value) for cell in row.cells)


def store_kit(store: Store[Any], folder: Path, *, written_by_driver: bool) -> SinkKit:
    sink = ToStore(store, replace(store.capabilities, written_by_driver=written_by_driver), folder / "incoming")
    return SinkKit(
        sink,
        folder / "state",
        visible=lambda: list(sink.rows()),
        seen=lambda event: (event.attributes["2hb_"], event.body),
        event=lambda number: Event(b"%d" % number, {"2hb_": b"r%d" % number, "2hb_f:q": b"%d" % number}),
        refused=Event(b"", {"2hb_": b"", "2hb_f:q": b""}),
        writes_at_once=not written_by_driver,
        is_keyed=True,
    )


class TestMemory(SinkContract):
    @pytest.fixture(params=[True, False], ids=["written by the driver", "written by tasks"])
    def kit(self, tmp_path: Path, request: pytest.FixtureRequest) -> SinkKit:
        return store_kit(MemoryStore(), tmp_path, written_by_driver=request.param)


class TestRocksDB(SinkContract):
    @pytest.fixture
    def kit(self, tmp_path: Path) -> Iterator[SinkKit]:
        with ExitStack() as opened:
            store = RocksDBStore(RocksDBSettings(path=str(tmp_path / "store")))
            opened.callback(store.close)
            yield store_kit(store, tmp_path, written_by_driver=True)


NOT_REPLACED = ('(attempt / "whole").replace(target)', '(attempt / "whole").replace(f"{target}-{batch.attempt}")')
CHECK = """\
    def check(self, context):
        (Path(self.settings.path) / ".new" / "file").mkdir(parents=True)
        return "writable"

"""
FAULTS = {
    "test_check_changes_nothing": ("    def writer(self", CHECK + "    def writer(self"),
    "test_second_commit_of_a_batch_changes_nothing": NOT_REPLACED,
    "test_second_run_of_a_batch_replaces_its_events": ("if content:", "if content and not target.exists():"),
    "test_kill_after_the_commit_writes_no_event_twice": NOT_REPLACED,
    "test_aborted_attempt_leaves_nothing": (
        "def abort(self, batch):\n        ",
        "def abort(self, batch):\n        0 and ",
    ),
    "test_abandoned_flush_cycle_is_discarded": ("= [], counts", '= getattr(self, "lines", []), counts'),
    "test_nothing_is_visible_before_the_commit": ("decode(prepared)) /", "decode(prepared)).parent.parent /"),
    "test_kill_between_flush_and_commit_runs_the_batch_again": ("rmtree(self.staging, ignore_errors=True)", "os"),
    "test_refused_event_does_not_affect_others": (
        'raise MappingError("this line is refused", code="bad_line")',
        "return ''",
    ),
}
"""Test of the suite -> text of the sink that is replaced, and its replacement."""


@pytest.mark.parametrize("test", FAULTS)
def test_fault_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, test: str) -> None:
    before, after = FAULTS[test]
    assert LINES.count(before) == 1
    check = getattr(SinkContract(), test)
    tasks = (1,) if "tasks" in inspect.signature(check).parameters else ()
    check(lines_kit(tmp_path / "good", monkeypatch), *tasks)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        check(lines_kit(tmp_path / "bad", monkeypatch, LINES.replace(before, after)), *tasks)
