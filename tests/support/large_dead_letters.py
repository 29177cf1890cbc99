"""A pipeline that refuses large records, run in this process."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from types import MappingProxyType

import yaml

from ingest.api import Record, Scan, WriteCounts
from ingest.catalog import Catalog
from ingest.config import load
from ingest.config.model import Configuration
from ingest.dead_letters.envelope import DeadLetter, dead_letters_of
from ingest.pipeline.in_process import InProcessHost
from ingest.pipeline.loop import MicroBatch, run_until_durable
from ingest.plan.assemble import live_task, plan_of
from ingest.receipt import Counts
from ingest.service.committers import committers_of
from ingest.service.dead_letters.queues import dead_letter_queue
from ingest.service.stores import SharedStores
from sinks.writing.driver_store import DriverStore
from tests.support.killed_stores import KilledStore

TABLES: Mapping[str, object] = {"events": {"families": {"f": {}}, "blobs": {"threshold": "1000B", "block_size": "1MB"}}}


def written(
    path: Path,
    sinks: tuple[str, ...] = ("events",),
    tables: Mapping[str, object] = TABLES,
    *,
    first: Mapping[str, object] = MappingProxyType({"json": {}}),
) -> Configuration:
    """A configuration whose pipeline refuses every record that is not JSON, or what another first decorator refuses."""
    content = {
        "version": 1,
        "stores": {"s": {"rocksdb": {"path": str(path / "store")}}},
        "tables": tables,
        "state_dir": str(path / "state"),
        "pipelines": {
            "p": {
                "source": {"files": {"path": "./in", "max_event_bytes": "64MiB"}},
                "decorators": [dict(first), {"value": {"attribute": "2hb_", "value": "%{offset}"}}],
                "sinks": [{"attr2hbase": {"table": table, "write_body": "f:body"}} for table in sinks],
            }
        },
    }
    file = path / "p.yaml"
    file.write_text(yaml.safe_dump(content))
    return load(file, env={}, lookup=Catalog())


def run(
    configuration: Configuration,
    at_ms: int,
    *values: bytes,
    calls: int | None = None,
    check: Callable[[Counts, Sequence[bytes]], None] = lambda _counts, _dead_letters: None,
) -> tuple[list[DeadLetter], WriteCounts]:
    """Run a micro-batch in this process; the driver is killed after this many writes. For `check` see the loop."""
    plan = plan_of(configuration, configuration.pipelines["p"], Catalog())
    records = [Record("in/a.log", 0, offset, None, value, 500) for offset, value in enumerate(values)]
    moved = WriteCounts()
    with ExitStack() as opened:
        stores = SharedStores(configuration, [plan]).used_by(plan, opened)
        if calls is not None:
            with stores["s"].held() as store:
                pass
            killed = DriverStore(KilledStore(store, calls))
            opened.callback(killed.close)
            stores = {"s": killed}
        committers = committers_of(
            configuration, plan, stores, on_counted=moved.counted.update, check_owner=lambda: None
        )
        for committer in committers.values():
            committer.recover()
        batch = MicroBatch(str(at_ms), at_ms, "1", splits=(("in/a.log", 0, 0),))
        _, dead_letters = run_until_durable(batch, committers, InProcessHost(live_task(plan), records), check=check)
    return dead_letters_of(dead_letters), moved


def publish(configuration: Configuration, at_ms: int, letters: list[DeadLetter]) -> None:
    """Publish the dead letters of a micro-batch."""
    queue = dead_letter_queue(configuration, configuration.pipelines["p"])
    queue.publish([each.to_json() for each in letters], at_ms // 1_000, at_ms)
    queue.close()


def references(configuration: Configuration) -> set[bytes]:
    """The references of dead letters."""
    with closing(Catalog().load("stores", "rocksdb")(configuration.stores["s"].settings)) as store:
        store.open()
        found = (row.key[32:] for row in store.scan("events_blobs_refs", Scan()))
        return {reference for reference in found if reference.startswith(b"dead-letter/")}
