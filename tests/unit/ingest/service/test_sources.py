"""Sources on the driver."""

from pathlib import Path

import pytest

from ingest.api import CatalogError, CheckpointError, ConfigError, ConflictError, Source
from ingest.catalog import Catalog
from ingest.config import load
from ingest.observe.metrics import Metrics
from ingest.service.files_source import FilesSource
from ingest.service.kafka.source import KafkaSource
from ingest.service.sources import open_source, restart_of, start_positions
from ingest.spark.streaming.batch_time import BatchTimes
from ingest.spark.streaming.checkpoint import Checkpoint
from tests.support.sources import FILES, KAFKA, TICKING, pipeline

PLUGIN = "ticking_source"


@pytest.fixture
def live(tmp_path, monkeypatch):
    """A function that creates the source of a pipeline."""
    (tmp_path / f"{PLUGIN}.py").write_text(TICKING)
    monkeypatch.syspath_prepend(tmp_path)

    def make(source: str, start_from: str | None = None):
        path = tmp_path / "p.yaml"
        path.write_text(pipeline(source, plugins=f"plugins: [{PLUGIN}]"))
        configuration = load(path, env={}, lookup=Catalog())
        catalog = Catalog(configuration.plugins)
        times = BatchTimes(tmp_path / "times", lambda: 1)
        checkpoint = Checkpoint(tmp_path / "state")
        return open_source(catalog, configuration.pipelines["p"], checkpoint, times, start_from, Metrics(["p"]))

    return make


def test_source_of_each_kind_is_created_with_its_settings(live):
    assert isinstance(live(FILES), FilesSource)
    assert isinstance(live(KAFKA, "earliest"), KafkaSource)
    ticking = live("ticking: {per_second: 7}")
    assert (ticking.kind, ticking.settings.per_second, ticking.context.pipeline) == ("ticking", 7, "p")


@pytest.mark.parametrize("source", [FILES, "ticking"])
def test_start_from_is_refused_by_a_source_that_does_not_support_it(live, source):
    with pytest.raises(ConfigError, match="does not support --start-from"):
        live(source, "earliest")


def test_plugin_that_cannot_be_created_is_named(live):
    with pytest.raises(CatalogError, match='"ticking" cannot be created: ValueError: too slow'):
        live("ticking: {per_second: 1}")


class Rewindable(Source):
    """A source of a plugin that starts at a given position, and stores none itself."""

    supports_start = True


@pytest.mark.parametrize(
    ("source", "resume", "anew"),
    [
        (FilesSource, "start again, which reads everything again", "start again, which reads everything"),
        (
            KafkaSource,
            "run 'attr2hbase run --start-from group', which resumes at the acknowledged positions",
            "run 'attr2hbase run --start-from POSITION'",
        ),
        (Rewindable, "run 'attr2hbase run --start-from POSITION'", "run 'attr2hbase run --start-from POSITION'"),
    ],
)
def test_hints_of_a_checkpoint_are_possible_with_its_source(
    tmp_path: Path, source: type[Source], resume: str, anew: str
):
    checkpoint = Checkpoint(tmp_path, restart_of(source))
    checkpoint.claim({"path": "/a"})
    with pytest.raises(ConflictError) as refused:
        checkpoint.claim({"path": "/b"})
    assert (refused.value.hint or "").endswith(f"give the pipeline another name or state_dir and {anew}")
    (tmp_path / "identity.json").write_text("{")
    with pytest.raises(CheckpointError) as damaged:
        checkpoint.claim({"path": "/a"})
    assert damaged.value.hint == f"restore the folder from a copy, or move it away and {resume}"


@pytest.mark.parametrize(
    ("started", "positions"),
    [
        ([], {"a": "group", "b": "group"}),
        (["a"], {"a": None, "b": "group"}),
        (["a", "b"], {"a": "group", "b": "group"}),  # each refuses it
    ],
)
def test_start_from_applies_to_pipelines_without_a_checkpoint(
    tmp_path: Path, started: list[str], positions: dict[str, str | None]
):
    for name in started:
        (tmp_path / name / "offsets").mkdir(parents=True)
        (tmp_path / name / "offsets" / "0").touch()
    checkpoints = {name: Checkpoint(tmp_path / name) for name in ("a", "b")}
    assert start_positions(checkpoints, "group") == positions
    assert start_positions(checkpoints, None) == {"a": None, "b": None}


def test_unreadable_checkpoint_does_not_affect_the_start_of_others(tmp_path: Path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    (tmp_path / "a" / "offsets").touch()
    (tmp_path / "b" / "offsets").mkdir()
    (tmp_path / "b" / "offsets" / "0").touch()
    checkpoints = {name: Checkpoint(tmp_path / name) for name in ("a", "b")}
    assert start_positions(checkpoints, "group") == {"a": "group", "b": None}
