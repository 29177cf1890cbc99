"""The driver's stores and the folders of staged files."""

import json
import os
import resource
import threading
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ingest.api import Batch, ConfigError, ConflictError, IntegrityError, Put, StoreUnavailableError, UpdatesDifferError
from ingest.catalog import Catalog
from ingest.config import load
from ingest.config.model import Configuration
from ingest.plan.assemble import plan_of
from ingest.service.committers import committers_of
from ingest.service.state_folders import staging_folder
from ingest.service.stores import SharedStores, driver_stores, refuse_cluster
from sinks.rowkeys.row_format import RowFormat
from sinks.updates.keys import UpdateKey
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


def staged_file(configuration: Configuration) -> Path:
    (name,) = configuration.pipelines
    path = staging_folder(configuration, "logs", name) / "0-0" / "x.puts"
    path.parent.mkdir(parents=True)
    path.touch()
    return path


def test_leftover_files_of_the_pipeline_are_removed_and_those_of_another_service_are_kept(tmp_path: Path):
    """Two services may share a state folder, with different checkpoints, and different stores of the same name."""
    ours, theirs = configured(tmp_path, "ours"), configured(tmp_path, "theirs")
    left, live = staged_file(ours), staged_file(theirs)
    with ExitStack() as opened:
        opened_stores(ours, opened)
        assert (left.exists(), live.exists()) == (False, True)


def test_files_of_a_pipeline_no_longer_configured_are_removed_after_a_week(tmp_path: Path):
    """Younger files may belong to another service that runs."""
    ours, gone = configured(tmp_path, "ours"), configured(tmp_path, "gone")
    left = staged_file(gone)
    for days, is_kept in ((6, True), (8, False)):
        at = time.time() - days * 24 * 3600
        os.utime(left.parent, (at, at))
        with ExitStack() as opened:
            opened_stores(ours, opened)
            assert left.exists() == is_kept


def test_options_of_a_store_that_a_dump_reads_cannot_be_reloaded(tmp_path: Path):
    before, after = configured(tmp_path, "before"), configured(tmp_path, "after")
    (old,) = (plan_of(before, each, CATALOG) for each in before.pipelines.values())
    (new,) = (plan_of(after, each, CATALOG) for each in after.pipelines.values())
    shared = SharedStores(before, [old])
    with ExitStack() as pipeline, ExitStack() as dump:
        shared.used_by(old, pipeline)
        shared.prepare(after)
        shared.used_by(old, dump, outlives_reload=True)
        with pytest.raises(ConfigError, match="while a dump reads it"):
            shared.prepare(after)
        shared.reconfigure(after, [new])
        pipeline.close()
        with pytest.raises(ConflictError) as caught:
            shared.used_by(new, pipeline)
        assert caught.value.code == "store_in_use"
        dump.close()
        assert shared.used_by(new, pipeline).keys() == {"logs"}


def test_files_are_kept_while_another_process_has_the_store_open(tmp_path: Path):
    configuration = configured(tmp_path, "ours")
    with ExitStack() as running, ExitStack() as second:
        opened_stores(configuration, running)
        live = staged_file(configuration)
        with pytest.raises(ConflictError):
            opened_stores(configuration, second)
        assert live.exists()


def stores_of(configuration: Configuration, opened: ExitStack) -> dict[str, DriverStore]:
    (pipeline,) = configuration.pipelines.values()
    return driver_stores(configuration, [plan_of(configuration, pipeline, CATALOG)], opened)


def test_store_on_a_full_disk_opens_once_there_is_space(tmp_path: Path):
    text = PIPELINE.format(state=tmp_path / "state", path=tmp_path / "data", name="p")
    (tmp_path / "p.yaml").write_text(text + "tables: {t: {families: {f: {}}}}\n")
    configuration = load(tmp_path / "p.yaml", env={}, lookup=CATALOG)
    left = staged_file(configuration)
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


def test_slow_store_does_not_block_another(tmp_path: Path):
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


def test_family_limit_of_a_table_is_that_of_its_own_sinks(tmp_path: Path):
    """A high limit of one sink must not apply to the tables of others."""
    (tmp_path / "p.yaml").write_text(LIMITS.format(tmp_path))
    configuration = load(tmp_path / "p.yaml", env={}, lookup=CATALOG)
    with ExitStack() as opened:
        stores = stores_of(configuration, opened)
        plan = plan_of(configuration, configuration.pipelines["p"], CATALOG)
        committer = committers_of(configuration, plan, stores, check_owner=lambda: None)["s"]
        wanted = {table: {b"a", b"b", b"c", b"d", b"sys"} for table in ("few", "more", "named_by_an_event")}
        prepared = committer.prepare(Batch("1", 1, "1-0"), [StoreResult(needs_families=wanted).packed()])
        assert {table: len(names) for table, names in Prepared.unpacked(prepared).families.items()} == {
            "few": 2,
            "more": 3,
            "named_by_an_event": 0,
        }


UNREACHABLE = """
version: 1
stores: {{s: {{hbase: {{host: 127.0.0.1, port: 1}}}}}}
tables: {{salted: {{families: {{f: {{}}}}, distribute: {{hash: 8}}}}, plain: {{families: {{f: {{}}}}}}}}
pipelines:
  p:
    source: {{files: {{path: {0}}}}}
    decorators: [value: {{attribute: "2hb_", value: "%{{topic}}:%{{offset}}"}}]
    sinks: [attr2hbase: {{table: plain}}]
"""


def test_only_tables_of_the_pipeline_are_compared_with_their_records(tmp_path: Path):
    """The start does not wait for the store: its tasks compare the records too."""
    (tmp_path / "p.yaml").write_text(UNREACHABLE.format(tmp_path))
    configuration = load(tmp_path / "p.yaml", env={}, lookup=CATALOG)
    plan = plan_of(configuration, configuration.pipelines["p"], CATALOG)
    committer = committers_of(configuration, plan, {}, check_owner=lambda: None)["s"]
    committer.recover()
    assert Prepared.unpacked(committer.prepare(Batch("1", 1, "1-0"), [])).declared == {"plain": RowFormat()}


def test_embedded_store_refuses_a_cluster_master(tmp_path: Path):
    with ExitStack() as opened:
        stores = stores_of(configured(tmp_path, "ours"), opened)
        for master in ("local[2,4]", "local-cluster[2,1,1024]"):
            refuse_cluster(stores, master)
        with pytest.raises(ConfigError, match='store "logs" is embedded'):
            refuse_cluster(stores, "spark://host:7077")
        refuse_cluster({}, "spark://host:7077")


def test_pipeline_and_its_replay_do_not_remove_each_others_staged_files(tmp_path: Path):
    made = configured(tmp_path, "p")
    plan = plan_of(made, made.pipelines["p"], CATALOG)
    folders = {}
    with ExitStack() as opened:
        stores = driver_stores(made, [plan], opened)
        committers = {
            is_replay: committers_of(made, replace(plan, is_replay=is_replay), stores, check_owner=lambda: None)["logs"]
            for is_replay in (False, True)
        }
        for is_replay, committer in committers.items():
            committer.recover()
            batch = Batch("b", 1_000, f"a{is_replay}")
            folder = Path(Prepared.unpacked(committer.prepare(batch, [])).folder)
            folder.mkdir(parents=True)
            folders[is_replay] = folder
        for is_replay, committer in committers.items():
            committer.prepare(Batch("b", 1_000, f"a{is_replay}"), [])
        assert all(folder.is_dir() for folder in folders.values())


def test_store_starts_without_files_that_were_staged_for_a_replay(tmp_path: Path):
    made = configured(tmp_path, "p")
    left = staging_folder(made, "logs", "p", is_replay=True) / "a"
    left.mkdir(parents=True)
    with ExitStack() as opened:
        [store] = driver_stores(made, [plan_of(made, made.pipelines["p"], CATALOG)], opened).values()
        store.open()
        assert not left.exists()


COUNTS = """
version: 1
state_dir: {0}/state
stores: {{logs: {{rocksdb: {{path: {0}/store}}}}}}
tables: {{t: {{families: {{c: {{}}}}, updates: {{processor: PROCESSOR}}}}}}
pipelines:
  counts:
    source: {{files: {{path: {0}}}}}
    decorators: [value: {{attribute: "2hb_", value: "%{{body}}"}}]
    sinks: [attr2hbase: {{table: t}}]
"""


def test_reload_refuses_other_updates_of_a_table_with_rows(tmp_path: Path):
    def counting(processor: str) -> Configuration:
        (tmp_path / "p.yaml").write_text(COUNTS.format(tmp_path).replace("PROCESSOR", processor))
        return load(tmp_path / "p.yaml", env={}, lookup=CATALOG)

    plans = {name: plan_of(counting(name), counting(name).pipelines["counts"], CATALOG) for name in ("sum", "max")}
    shared = SharedStores(counting("sum"), [plans["sum"]])
    with ExitStack() as opened:
        store = shared.used_by(plans["sum"], opened)["logs"]
        store.open()

        def recorded() -> str:
            with store.held() as held:
                return json.loads(held.properties("t")["updates"])["processor"]

        shared.prepare(counting("max"))
        assert recorded() == "sum"  # the running pipeline adds
        with store.held() as held:
            held.apply("t", [Put(UpdateKey(b"a", 5).encoded(), {b"c:n": b"1"}, 5)])
        with pytest.raises(UpdatesDifferError):
            shared.prepare(counting("max"))


def test_reload_creates_the_tables_of_a_store_whose_last_user_ends_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def counting(text: str) -> Configuration:
        (tmp_path / "p.yaml").write_text(COUNTS.format(tmp_path).replace("PROCESSOR", "sum").replace("{t: ", text))
        return load(tmp_path / "p.yaml", env={}, lookup=CATALOG)

    before, after = counting("{t: "), counting("{new: {families: {c: {}}}, t: ")
    plan = plan_of(before, before.pipelines["counts"], CATALOG)
    shared, opened = SharedStores(before, [plan]), ExitStack()
    store = shared.used_by(plan, opened)["logs"]
    store.open()
    used_now = shared._used_now

    def ended(*arguments: Any) -> Any:
        found = used_now(*arguments)
        opened.close()
        return found

    monkeypatch.setattr(shared, "_used_now", ended)
    shared.prepare(after)
    assert shared.in_use() == {}
    monkeypatch.undo()
    with ExitStack() as again, shared.used_by(plan, again)["logs"].held() as held:
        assert held.families("new") == {b"c"}
