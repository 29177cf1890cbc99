"""The stores of a driver and the folders tasks hand over in."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from ingest.api import ConflictError
from ingest.build import plan_of
from ingest.catalog import Catalog
from ingest.config import load
from ingest.config.model import Configuration
from ingest.service.stores import driver_stores, incoming_folder

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


def test_files_stay_while_another_process_holds_the_store(tmp_path: Path):
    configuration = configured(tmp_path, "ours")
    with ExitStack() as running, ExitStack() as second:
        opened_stores(configuration, running)
        live = handed_over(configuration)
        with pytest.raises(ConflictError):
            opened_stores(configuration, second)
        assert live.exists()
