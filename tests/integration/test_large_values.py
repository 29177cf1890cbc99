"""A pipeline moves large values of its events into a blob store in HBase."""

import json
import random
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml

from ingest.api import Record, Scan
from ingest.catalog import Catalog
from ingest.cli import main
from ingest.clock import now_ms
from ingest.config import load
from ingest.config.model import Configuration
from ingest.pipeline.in_process import InProcessHost
from ingest.pipeline.loop import MicroBatch, run_until_durable
from ingest.plan.assemble import live_task, plan_of
from ingest.plan.stores import owned_store
from ingest.receipt import Counts
from ingest.service.committers import committers_of
from ingest.service.dead_letters.queues import dead_letter_queue
from sinks.blobs.blob_options import BlobOptions
from sinks.blobs.blob_store import BlobStore
from sinks.blobs.pointers import Pointer
from sinks.blobs.sweep import SweepCounts
from tests.support.counted import counted_blobs
from tests.support.names import unique
from tests.support.servers import HBase, Protocol

MIB = 1 << 20
SMALL = "s" * 1000
LARGE = random.Random(1).randbytes(6 * MIB).hex()
"""Larger than a cell of HBase may be."""


@pytest.fixture
def table(hbase: HBase, protocol: Protocol, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A salted table with a blob store, in the file p.yaml of the working directory."""
    name = unique("large")
    content = {
        "version": 1,
        "service": {"http": {"listen": "127.0.0.1:1"}},  # no service answers there
        "stores": {"cluster": {"hbase": hbase.store_options(protocol, thrift2=True) | {"timeout": "60s"}}},
        "tables": {
            name: {
                "families": {"f": {}},
                "distribute": {"hash": 4},
                "blobs": {"threshold": "1MiB", "compression": "lz4"},
            }
        },
        "pipelines": {
            "p": {
                "source": {"files": {"path": "./in", "max_event_bytes": "64MiB"}},
                "decorators": [{"value": {"attribute": "2hb_", "value": "%{offset}"}}],
                "sinks": [{"attr2hbase": {"table": name, "write_body": "f:body"}}],
            }
        },
    }
    monkeypatch.chdir(tmp_path)
    Path("p.yaml").write_text(yaml.safe_dump(content))
    assert main(["table", "apply", "p.yaml"]) == 0
    return name


def run(configuration: Configuration, at_ms: int, values: dict[int, str]) -> Counts:
    """Run a micro-batch in this process: offset -> value."""
    counts, dead_letters = run_batch(configuration, at_ms, values)
    assert dead_letters == []
    return counts


def run_batch(configuration: Configuration, at_ms: int, values: dict[int, str]) -> tuple[Counts, list[bytes]]:
    """The same, with its dead letters."""
    plan = plan_of(configuration, configuration.pipelines["p"], Catalog())
    records = [Record("in/a.log", 0, offset, None, value.encode(), 500) for offset, value in values.items()]
    batch = MicroBatch(str(at_ms), at_ms, "1", splits=(("in/a.log", 0, 0),))
    committers = committers_of(configuration, plan, {}, check_owner=lambda: None)
    with ExitStack() as opened:
        task = live_task(plan)
        for each in (task, *committers.values()):
            opened.callback(each.close)
        return run_until_durable(batch, committers, InProcessHost(task, records))


def test_2c4_large_values_are_moved_once(table: str, capfd: pytest.CaptureFixture[str]) -> None:
    configuration = load("p.yaml", env={}, lookup=Catalog())
    counts = [run(configuration, at_ms, {0: LARGE, 1: SMALL, 2: LARGE}) for at_ms in (1_000, 1_000, 2_000)]
    assert [each.stored for each in counts] == [3, 3, 3]
    first = counts[0].counted
    # values of one batch may be stored at once
    assert first["blobs_stored", table] + first["blobs_deduplicated", table] == 2
    assert [each.counted for each in counts[1:]] == [counted_blobs(table, deduplicated=2)] * 2

    def shown(*options: str) -> dict[str, str]:
        capfd.readouterr()
        assert main(["scan", "-f", "p.yaml", table, "--output", "json", *options]) == 0
        rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
        return {row["row"]: row["cells"][0][3] for row in rows}

    pointers = {row: Pointer.of_value(value.encode()) for row, value in shown().items()}
    assert pointers["0"] is not None
    assert (pointers["0"].length, pointers["0"], pointers["1"]) == (12 * MIB, pointers["2"], None)
    assert shown("--blobs") == {"0": LARGE, "1": SMALL, "2": LARGE}
    with owned_store(configuration.stores["cluster"], Catalog()) as store:
        blocks = list(store.scan(f"{table}_blobs_value", Scan(columns=(b"b:c",))))
        references = list(store.scan(f"{table}_blobs_refs", Scan()))
    assert (len(blocks), len(references)) == (13, 2)
    assert main(["admin", "blob", "check", "-f", "p.yaml", table]) == 0
    assert main(["blob", "get", "-f", "p.yaml", table, pointers["0"].blob.hex(), "--to", "copy"]) == 0
    assert Path("copy").read_text() == LARGE


def test_sweep_drops_the_references_of_replaced_values(table: str) -> None:
    configuration = load("p.yaml", env={}, lookup=Catalog())
    run(configuration, 1_000, {0: LARGE, 1: LARGE[1:]})
    with owned_store(configuration.stores["cluster"], Catalog()) as store:
        later_ms = now_ms()

        def swept() -> SweepCounts:
            nonlocal later_ms
            later_ms += 25 * 3_600_000
            blobs = BlobStore(store, f"{table}_blobs", BlobOptions(), owner=table, clock_ms=lambda: later_ms)
            return blobs.sweep()

        found = swept()
        assert (found.referenced, found.dropped, found.purged) == (2, 0, 0)
        run(configuration, 2_000, {0: SMALL})
        found = swept()
        assert (found.referenced, found.dropped, found.unreferenced) == (1, 1, 1)
        found = swept()
        assert (found.referenced, found.dropped, found.purged) == (1, 0, 1)
        assert len(list(store.scan(f"{table}_blobs_value", Scan(columns=(b"b:c",))))) == 13
    assert main(["admin", "blob", "check", "-f", "p.yaml", table]) == 0


def test_refused_large_values_are_replayed(table: str) -> None:
    corrected = Path("p.yaml").read_text()
    content = yaml.safe_load(corrected)
    content["pipelines"]["p"]["decorators"].insert(0, {"json": {}})
    Path("p.yaml").write_text(yaml.safe_dump(content))
    configuration = load("p.yaml", env={}, lookup=Catalog())
    for _ in range(2):  # the second time, the micro-batch runs again
        counts, dead_letters = run_batch(configuration, 1_000, {0: LARGE, 1: SMALL, 2: LARGE})
        assert (counts.dead_lettered.total(), sum(map(len, dead_letters)) < 10_000) == (3, True)
    assert counts.counted == counted_blobs(table, deduplicated=2)
    dead_letter_queue(configuration, configuration.pipelines["p"]).publish(dead_letters, 0, 1_000)

    def references() -> set[bytes]:
        with owned_store(configuration.stores["cluster"], Catalog()) as store:
            found = {row.key[32:] for row in store.scan(f"{table}_blobs_refs", Scan())}
        return {reference for reference in found if reference.startswith(b"dead-letter/")}

    assert references() == {b"dead-letter/p/1000/in/a.log/0/%d/0/json" % offset for offset in (0, 2)}
    Path("p.yaml").write_text(corrected)
    assert main(["dead-letters", "replay", "-f", "p.yaml"]) == 0
    assert references() == set()
    with owned_store(configuration.stores["cluster"], Catalog()) as store:
        pointers = [Pointer.of_value(row.cells[0].value) for row in store.scan(table, Scan())]
    assert sorted(12 * MIB if pointer is not None else 0 for pointer in pointers) == [0, 12 * MIB, 12 * MIB]
    assert main(["admin", "blob", "check", "-f", "p.yaml", table]) == 0
