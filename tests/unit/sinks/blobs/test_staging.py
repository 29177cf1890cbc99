"""Large values of a store that only the driver writes: staged by tasks, stored by the driver."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml

from ingest.api import Batch, Committer, IntegrityError, Record, Scan, TaskSpec
from ingest.catalog import Catalog
from ingest.config import load
from ingest.config.model import Configuration
from ingest.pipeline.in_process import InProcessHost
from ingest.pipeline.loop import MicroBatch, run_until_durable
from ingest.pipeline.task import Task
from ingest.plan.assemble import live_task, plan_of
from ingest.receipt import Receipt
from ingest.service.committers import committers_of
from ingest.service.stores import SharedStores
from sinks.blobs.declared import blobs_in
from sinks.blobs.errors import BlobsDifferError
from sinks.blobs.pointers import Pointer
from sinks.blobs.resolving import resolved
from sinks.blobs.staging import BlobCommitter
from sinks.memory import MemoryStore
from sinks.writing.driver_store import DriverStore
from tests.support.blob_findings import findings
from tests.support.counted import counted_blobs
from tests.support.killed_stores import KilledError, KilledStore

LARGE, OTHER, SMALL = "l" * 2_500_000, "o" * 2_000, "s" * 1_000


def written(path: Path, **blobs: object) -> Configuration:
    """A configuration with a salted table that has a blob store."""
    content = {
        "version": 1,
        "stores": {"s": {"rocksdb": {"path": str(path / "store")}}},
        "tables": {
            "events": {
                "families": {"f": {}},
                "distribute": {"hash": 4},
                "blobs": {"threshold": "1000B", "block_size": "1MB"} | blobs,
            }
        },
        "state_dir": str(path / "state"),
        "pipelines": {
            "p": {
                "source": {"files": {"path": "./in", "max_event_bytes": "64MiB"}},
                "decorators": [{"value": {"attribute": "2hb_", "value": "%{offset}"}}],
                "sinks": [{"attr2hbase": {"table": "events", "write_body": "f:body"}}],
            }
        },
    }
    file = path / "p.yaml"
    file.write_text(yaml.safe_dump(content))
    return load(file, env={}, lookup=Catalog())


@pytest.fixture
def configuration(tmp_path: Path) -> Configuration:
    return written(tmp_path)


class Host(InProcessHost):
    """Calls a function after the tasks, whose files are staged then."""

    def __init__(self, task: Task, records: Iterable[Record], after_tasks: Callable[[], object]) -> None:
        super().__init__(task, records)
        self._after_tasks = after_tasks

    def run_tasks(self, spec: TaskSpec, *, on_one_slot: bool) -> Sequence[Receipt]:
        receipts = super().run_tasks(spec, on_one_slot=on_one_slot)
        self._after_tasks()
        return receipts


def run(
    configuration: Configuration,
    at_ms: int,
    *values: str,
    calls: int | None = None,
    after_tasks: Callable[[], object] = lambda: None,
) -> Counter[tuple[str, str]]:
    """Run a micro-batch in this process, and count its blobs; the driver is killed after this many writes."""
    from contextlib import ExitStack

    plan = plan_of(configuration, configuration.pipelines["p"], Catalog())
    records = [Record("in/a.log", 0, offset, None, value.encode(), 500) for offset, value in enumerate(values)]
    batch = MicroBatch(str(at_ms), at_ms, "1", splits=(("in/a.log", 0, 0),))
    moved: Counter[tuple[str, str]] = Counter()
    with ExitStack() as opened:
        stores = SharedStores(configuration, [plan]).used_by(plan, opened)
        if calls is not None:
            with stores["s"].held() as store:
                pass
            killed = DriverStore(KilledStore(store, calls))
            opened.callback(killed.close)
            stores = {"s": killed}
        committers = committers_of(configuration, plan, stores, on_counted=moved.update, check_owner=lambda: None)
        for committer in committers.values():
            committer.recover()
        counts, dead_letters = run_until_durable(batch, committers, Host(live_task(plan), records, after_tasks))
    assert (counts.stored, counts.counted, dead_letters) == (len(values), {}, [])
    return moved


def found(configuration: Configuration) -> tuple[dict[bytes, str], int, int]:
    """Rows with large values, and the numbers of blocks and references."""
    with DriverStore(Catalog().load("stores", "rocksdb")(configuration.stores["s"].settings)).held() as store:
        try:
            blobs = blobs_in(store, configuration.tables["events"])
            rows = {row.key[1:]: resolved(blobs, row).cells[0].value.decode() for row in store.scan("events", Scan())}
            counts = [len(list(store.scan(f"events_blobs_{suffix}", Scan()))) for suffix in ("value", "refs")]
            assert findings(blobs) == []
            assert all(
                Pointer.of_value(row.cells[0].value) is not None
                for row in store.scan("events", Scan())
                if rows[row.key[1:]] != SMALL
            )
            return rows, counts[0], counts[1]
        finally:
            store.close()


def test_2c4_large_values_are_stored_once(configuration):
    moved = [run(configuration, at_ms, LARGE, SMALL, OTHER, LARGE) for at_ms in (1_000, 1_000, 2_000)]
    assert moved == [counted_blobs("events", *counts) for counts in ((2, 2_502_000, 1), (0, 0, 3), (0, 0, 3))]
    assert found(configuration) == ({b"0": LARGE, b"1": SMALL, b"2": OTHER, b"3": LARGE}, 4, 3)
    assert list(Path(configuration.local_dir).rglob("*.blobs")) == []


def test_driver_that_is_killed_at_each_write(configuration):
    for calls in range(40):
        try:
            run(configuration, 1_000, LARGE, OTHER, calls=calls)
        except KilledError:
            continue
        break
    assert 5 < calls < 39
    assert found(configuration) == ({b"0": LARGE, b"1": OTHER}, 4, 2)


def test_2c14_changed_option_is_refused_at_the_start(configuration, tmp_path):
    run(configuration, 1_000, LARGE)
    with pytest.raises(BlobsDifferError, match=r"1000000.*2000000"):
        run(written(tmp_path, block_size="2MB"), 2_000, LARGE)
    assert found(configuration)[0] == {b"0": LARGE}


def test_damaged_file_is_refused_before_rows_are_applied(configuration):
    def damage():
        (blob,) = (path for path in configuration.local_dir.rglob("*.blobs/*") if path.name != "references")
        blob.write_bytes(b"damaged")

    with pytest.raises(IntegrityError, match="staged file"):
        run(configuration, 1_000, LARGE, after_tasks=damage)
    with DriverStore(Catalog().load("stores", "rocksdb")(configuration.stores["s"].settings)).held() as store:
        try:
            assert list(store.scan("events", Scan())) == []
        finally:
            store.close()


def test_store_is_held_from_the_references_to_the_rows():
    """A sweep of another thread of the driver does not come in between, however long that takes."""
    driver = DriverStore(MemoryStore())
    is_free = []

    def acquired() -> bool:
        if found := driver._lock.acquire(blocking=False):
            driver._lock.release()
        return found

    class Rows(Committer):
        """Commits the rows."""

        def commit(self, batch, results):
            assert (batch, results) == (committed, [])
            with ThreadPoolExecutor(1) as other:
                is_free.append(other.submit(acquired).result())
            with driver.held():
                pass

    committed = Batch("1", 1_000, "1")
    BlobCommitter(Rows(), driver, {}).commit(committed, [])
    assert is_free == [False]
