"""The stores of a driver and the folders tasks hand over in."""

import os
import resource
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from ingest.api import Batch, ConfigError, ConflictError, IntegrityError, StoreUnavailableError
from ingest.catalog import Catalog
from ingest.config import load
from ingest.config.model import Configuration
from ingest.plan.assemble import plan_of
from ingest.service.stores import committers_of, driver_stores, incoming_folder, refuse_cluster
from sinks.writing.driver_store import DriverStore
from sinks.writing.families import FamilyRegistry
from sinks.writing.messages import Prepared, StoreResult

CATALOG = Catalog()
PIPELINE = """
version: 1
state_dir: {state}
stores: {{logs: {{rocksdb: {{path: {path}}}}}}}
pipelines:
  {name}:
    source: {{files: {{path: {path}}}}}
    decorators: [value: {{attribute: "2hb_", value: "%{{topic}}:%{{offset}}"}}]
    sinks: [attr2hbase: {{table: t}}]
"""


def configured(folder: Path, name: str) -> Configuration:
    file = folder / f"{name}.yaml"
    file.write_text(PIPELINE.format(state=folder / "state", path=folder / name, name=name))
    return load(file, env={}, lookup=CATALOG)


def opened_stores(configuration: Configuration, opened: ExitStack) -> None:
    (pipeline,) = configuration.pipelines.values()
    for store in driver_stores(configuration, [plan_of(configuration, pipeline, CATALOG)], opened).values():
        store.open()


def handed_over(configuration: Configuration) -> Path:
    (name,) = configuration.pipelines
    path = incoming_folder(configuration, "logs", name) / "0-0" / "x.puts"
    path.parent.mkdir(parents=True)
    path.touch()
    return path


def test_leftovers_of_a_pipeline_go_and_files_of_another_service_stay(tmp_path: Path):
    """Two services may share a state folder: their checkpoints differ, and so do their stores, but for the name."""
    ours, theirs = configured(tmp_path, "ours"), configured(tmp_path, "theirs")
    left, live = handed_over(ours), handed_over(theirs)
    with ExitStack() as opened:
        opened_stores(ours, opened)
        assert (left.exists(), live.exists()) == (False, True)


def test_what_a_pipeline_left_goes_in_time_though_nobody_names_it_any_more(tmp_path: Path):
    """Another service may be at work on what is younger."""
    ours, gone = configured(tmp_path, "ours"), configured(tmp_path, "gone")
    left = handed_over(gone)
    for days, stays in ((6, True), (8, False)):
        at = time.time() - days * 24 * 3600
        os.utime(left.parent, (at, at))
        with ExitStack() as opened:
            opened_stores(ours, opened)
            assert left.exists() == stays


def test_files_stay_while_another_process_holds_the_store(tmp_path: Path):
    configuration = configured(tmp_path, "ours")
    with ExitStack() as running, ExitStack() as second:
        opened_stores(configuration, running)
        live = handed_over(configuration)
        with pytest.raises(ConflictError):
            opened_stores(configuration, second)
        assert live.exists()


def stores_of(configuration: Configuration, opened: ExitStack) -> dict[str, DriverStore]:
    (pipeline,) = configuration.pipelines.values()
    return driver_stores(configuration, [plan_of(configuration, pipeline, CATALOG)], opened)


def test_store_without_room_is_waited_for_and_then_ready(tmp_path: Path):
    text = PIPELINE.format(state=tmp_path / "state", path=tmp_path / "data", name="p")
    (tmp_path / "p.yaml").write_text(text + "tables: {t: {families: {f: {}}}}\n")
    configuration = load(tmp_path / "p.yaml", env={}, lookup=CATALOG)
    left = handed_over(configuration)
    with ExitStack() as opened:
        store = stores_of(configuration, opened)["logs"]
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
        try:
            for _ in range(2):
                with pytest.raises(StoreUnavailableError, match="no space left"):
                    store.open()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert left.exists()
        with store.held() as ready:
            assert ready.families("t") == frozenset({b"f"})
        assert not left.exists()


def test_damaged_store_is_reported_at_once(tmp_path: Path):
    configuration = configured(tmp_path, "ours")
    with ExitStack() as opened:
        opened_stores(configuration, opened)
    (tmp_path / "ours" / "CURRENT").write_text("MANIFEST-000099\n")
    with ExitStack() as opened, pytest.raises(IntegrityError):
        opened_stores(configuration, opened)


TWO = """
version: 1
state_dir: {0}/state
stores: {{a: {{rocksdb: {{path: {0}/a}}}}, b: {{rocksdb: {{path: {0}/b}}}}}}
pipelines:
  p:
    source: {{files: {{path: {0}}}}}
    decorators: [value: {{attribute: "2hb_", value: "%{{topic}}:%{{offset}}"}}]
    sinks: [attr2hbase: {{store: a, table: t}}, attr2hbase: {{store: b, table: t}}]
"""


def test_store_that_is_slow_holds_up_no_other(tmp_path: Path):
    (tmp_path / "p.yaml").write_text(TWO.format(tmp_path))
    with ExitStack() as opened:
        stores = stores_of(load(tmp_path / "p.yaml", env={}, lookup=CATALOG), opened)
        registry = FamilyRegistry(stores["b"], {}, {"t": 20}, {})
        worker = threading.Thread(target=registry.create, args=("t", [b"f"]), daemon=True)
        with stores["a"].held():
            worker.start()
            worker.join(30)
            assert not worker.is_alive()
        assert registry.known() == {"t": frozenset({b"f"})}


LIMITS = """
version: 1
stores: {{s: {{rocksdb: {{path: {0}/s}}}}}}
pipelines:
  p:
    source: {{files: {{path: {0}}}}}
    decorators: [value: {{attribute: "2hb_", value: "%{{topic}}:%{{offset}}"}}]
    sinks:
      - attr2hbase: {{table: few, sys_family: sys, families: {{max_created: 1}}}}
      - attr2hbase: {{table: more, families: {{max_created: 2}}}}
      - attr2hbase: {{table: more, families: {{max_created: 3}}}}
      - attr2hbase: {{table: "%{{topic}}", families: {{max_created: 0}}}}
"""


def test_limit_of_families_is_that_of_the_sinks_of_the_table(tmp_path: Path):
    """One sink with room for many must not make room in the tables of others."""
    (tmp_path / "p.yaml").write_text(LIMITS.format(tmp_path))
    configuration = load(tmp_path / "p.yaml", env={}, lookup=CATALOG)
    with ExitStack() as opened:
        stores = stores_of(configuration, opened)
        plan = plan_of(configuration, configuration.pipelines["p"], CATALOG)
        committer = committers_of(configuration, plan, stores)["s"]
        wanted = {table: {b"a", b"b", b"c", b"d", b"sys"} for table in ("few", "more", "named_by_an_event")}
        prepared = committer.prepare(Batch("1", 1, "1-0"), [StoreResult(needs_families=wanted).packed()])
        assert {table: len(names) for table, names in Prepared.unpacked(prepared).families.items()} == {
            "few": 2,
            "more": 3,
            "named_by_an_event": 0,
        }


def test_embedded_store_keeps_tasks_on_this_machine(tmp_path: Path):
    with ExitStack() as opened:
        stores = stores_of(configured(tmp_path, "ours"), opened)
        for master in ("local[2,4]", "local-cluster[2,1,1024]"):
            refuse_cluster(stores, master)
        with pytest.raises(ConfigError, match='store "logs" is embedded'):
            refuse_cluster(stores, "spark://host:7077")
        refuse_cluster({}, "spark://host:7077")
