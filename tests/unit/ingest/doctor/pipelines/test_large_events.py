"""Events of up to 64 MiB: what `validate` says, and what a task needs for ten that are refused."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ingest
from ingest.api.errors import ConfigInvalidError
from ingest.catalog import Catalog
from ingest.config import load
from ingest.config.model import Configuration
from ingest.doctor.pipelines.large_events import warnings_of
from ingest.sources.files import FilesSourceSettings

GIB = 1 << 30
FILE = """
version: 1
spark: {master: "local[4]"}
stores: {local: {rocksdb: {path: ./store, sync: false}}}
pipelines:
  p:
    source: {files: {path: ./in, max_event_bytes: SIZE}}
    decorators: [{max_size: {max_bytes: 1KiB}}, {value: {attribute: 2hb_, value: "%{offset}"}}]
    sinks: [{attr2hbase: {table: events, write_body: "f:body"}}]
    on_error: ACTION
"""


def written(folder: Path, size: str, action: str = "drop", threshold: str = "") -> Configuration:
    file = folder / "p.yaml"
    tables = f"tables: {{events: {{families: {{f: {{}}}}, blobs: {{threshold: {threshold}}}}}}}" if threshold else ""
    file.write_text(FILE.replace("SIZE", size).replace("ACTION", action) + tables)
    return load(str(file), env={}, lookup=Catalog())


def messages(configuration: Configuration, machine_bytes: int) -> list[str]:
    return [str(each) for each in warnings_of(configuration, machine_bytes, 2)]


def test_tasks_times_event_size_is_compared_with_the_memory(tmp_path):
    assert messages(written(tmp_path, "1MiB"), GIB) == []
    assert messages(written(tmp_path, "64MiB"), 16 * GIB) == []
    (found,) = messages(written(tmp_path, "64MiB"), 3 * GIB)
    assert re.search(
        r"p\.yaml:7:51: doubtful: warning: 4 tasks with events of 64\S* MiB: about 3\.6\S* GiB of 3", found
    )


def test_dead_letter_that_exceeds_the_limit(tmp_path, monkeypatch):
    assert messages(written(tmp_path, "48MiB", "dead_letter"), 64 * GIB) == []
    (found,) = messages(written(tmp_path, "49MiB", "dead_letter"), 64 * GIB)
    assert "has only its place" in found
    assert "on_error: drop" in found
    assert "blobs: {threshold: 1MiB}" in found
    assert messages(written(tmp_path, "64MiB", "dead_letter", "1MiB"), 64 * GIB) == []
    assert len(messages(written(tmp_path, "64MiB", "dead_letter", "49MiB"), 64 * GIB)) == 1
    monkeypatch.setattr(FilesSourceSettings, "read_again_by", None)  # as with a plugin
    assert "stops the pipeline" in messages(written(tmp_path, "49MiB", "dead_letter"), 64 * GIB)[0]


def test_more_than_64_mib_is_refused(tmp_path):
    with pytest.raises(ConfigInvalidError, match="out-of-range"):
        written(tmp_path, "65MiB")


PROGRAM = """
import sys
from contextlib import ExitStack
from ingest.api import Record
from ingest.catalog import Catalog
from ingest.config import load
from ingest.pipeline.in_process import InProcessHost
from ingest.pipeline.loop import MicroBatch, run_until_durable
from ingest.plan.assemble import live_task, plan_of
from ingest.service.stores import SharedStores
from ingest.service.committers import committers_of

def most_resident():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) >> 10

class Records:
    def __iter__(self):
        for offset in range(10):
            yield Record("in/a.log", 0, offset, None, b"%d" % offset * (64 << 20), 500)

configuration = load(sys.argv[1], env={}, lookup=Catalog())
plan = plan_of(configuration, configuration.pipelines["p"], Catalog())
with ExitStack() as opened:
    stores = SharedStores(configuration, [plan]).used_by(plan, opened)
    committers = committers_of(configuration, plan, stores, check_owner=lambda: None)
    for committer in committers.values():
        committer.recover()
    before = most_resident()
    batch = MicroBatch("1000", 1000, "1", splits=(("in/a.log", 0, 0),))
    counts, letters = run_until_durable(batch, committers, InProcessHost(live_task(plan), Records()))
    print(counts.dropped.total(), counts.dead_lettered.total(), sum(map(len, letters)), most_resident() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux")
def test_ten_refused_events_of_64_mib_in_one_batch(tmp_path):
    dropped, _, _, grown_mib = run(written(tmp_path, "64MiB"))
    assert dropped == 10
    assert grown_mib < 4 * 64


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux")
def test_ten_dead_letters_of_64_mib_in_one_batch(tmp_path):
    _, dead_lettered, letter_bytes, grown_mib = run(written(tmp_path, "64MiB", "dead_letter", "1MiB"))
    assert dead_lettered == 10
    assert letter_bytes < 100_000
    assert grown_mib < 6 * 64


def run(configuration: Configuration) -> list[int]:
    """Run ten events of 64 MiB, which are refused, in a process of their own; returns what it prints."""
    folder = Path(configuration.path).parent
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(configuration.path)],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(Path(ingest.__file__).parents[1])},
    )
    return [int(each) for each in done.stdout.split()[-4:]]
