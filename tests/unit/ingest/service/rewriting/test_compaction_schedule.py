"""Compactions that a table declares, and jobs that work on tables."""

from types import SimpleNamespace

import pytest

from ingest.api import ConfigError, NotFoundError
from ingest.catalog import Catalog
from ingest.config import load
from ingest.config.model import Configuration
from ingest.observe.metrics import Metrics
from ingest.service.job_kinds import job_of
from ingest.service.jobs.schedule import Every
from ingest.service.rewriting.compaction import Compaction
from sinks.updates.options import CompactionOptions
from tests.support.counters import FILE

EVERY = "updates: {processor: sum, compact: {every: 10m, window: 30m}}"


def configuration(tmp_path, text: str = FILE) -> Configuration:
    file = tmp_path / "p.yaml"
    file.write_text(text)
    return load(str(file), env={}, lookup=Catalog())


def with_compact(tmp_path, options: str = EVERY) -> Configuration:
    return configuration(tmp_path, FILE.replace("updates: {processor: sum}", options))


def test_tables_that_a_pipeline_writes_are_scheduled(tmp_path):
    assert Compaction.scheduled(configuration(tmp_path)) == []
    (found,) = Compaction.scheduled(with_compact(tmp_path))
    assert (found.when, found.tables, found.job.subject) == (Every(600.0), ("counters",), "counters")
    assert found.job.is_same(Compaction("counters", CompactionOptions(window="30m")))
    metrics = Metrics(["hits"])
    Compaction.schedule_changed(metrics, [found], 7.0)
    assert 'attr2hbase_compaction_interval_seconds{table="counters"} 600.0' in metrics.render()[1].decode()
    Compaction.schedule_changed(metrics, [], 8.0)
    assert "attr2hbase_compaction_interval_seconds{" not in metrics.render()[1].decode()


def test_options_do_not_change_how_rows_are_merged(tmp_path):
    plain, compacted = configuration(tmp_path), with_compact(tmp_path)
    assert plain.tables["counters"].spec() == compacted.tables["counters"].spec()


@pytest.mark.parametrize("options", ["compact: {}", "compact: {every: 0s}", "compact: {every: 10m, window: 0s}"])
def test_wrong_options(tmp_path, options: str):
    with pytest.raises(ConfigError):
        with_compact(tmp_path, "updates: {processor: sum, " + options + "}")


@pytest.mark.parametrize(
    ("kind", "options"), [("compaction", {}), ("rollback", {"from": "1970-01-01", "to": "1970-01-02"})]
)
def test_jobs_of_a_table(tmp_path, kind: str, options: dict[str, str]):
    def job(table: str):
        return job_of(kind, {"table": table, **options})

    shared = SimpleNamespace(configuration=configuration(tmp_path))
    checked = job("counters")
    checked.check(shared)
    assert (checked.uses(["hits"]), checked.uses(["other"])) == (True, False)
    assert checked.needs_slots is False  # of an embedded store
    assert checked.is_same(job("counters"))
    assert not checked.is_same(job("plain"))
    with pytest.raises(ConfigError):
        job("plain").check(shared)
    with pytest.raises(NotFoundError):
        job("none").check(shared)
    assert not checked.is_same(Compaction("counters", CompactionOptions(window="5ms")))
