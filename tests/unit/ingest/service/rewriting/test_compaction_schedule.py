"""Compactions that a table declares, and duties that work on tables."""

from types import SimpleNamespace

import pytest

from ingest.api import ConfigError, ConflictError, NotFoundError
from ingest.catalog import Catalog
from ingest.config import load
from ingest.config.model import Configuration
from ingest.observe.metrics import Metrics
from ingest.service.rewriting.compaction_duty import CompactionDuty
from ingest.service.rewriting.compaction_request import CompactionRequest
from ingest.service.rewriting.compaction_schedule import CompactionSchedule, Scheduled, scheduled
from ingest.service.rewriting.rollback import RollbackRequest
from ingest.service.rewriting.rollback_duty import RollbackDuty
from tests.support.counters import FILE
from tests.support.submitted_duties import SubmittedDuties

EVERY = "updates: {processor: sum, compact: {every: 10m, window: 30m}}"


def configuration(tmp_path, text: str = FILE) -> Configuration:
    file = tmp_path / "p.yaml"
    file.write_text(text)
    return load(str(file), env={}, lookup=Catalog())


def with_compact(tmp_path, options: str = EVERY) -> Configuration:
    return configuration(tmp_path, FILE.replace("updates: {processor: sum}", options))


def test_tables_that_a_pipeline_writes_are_scheduled(tmp_path):
    assert scheduled(configuration(tmp_path)) == {}
    request = CompactionRequest(window_ms=1_800_000)
    assert scheduled(with_compact(tmp_path)) == {"counters": Scheduled(600.0, request)}


def test_options_do_not_change_how_rows_are_merged(tmp_path):
    plain, compacted = configuration(tmp_path), with_compact(tmp_path)
    assert plain.tables["counters"].spec() == compacted.tables["counters"].spec()


def test_submitted_after_each_interval(tmp_path):
    now, duties = [100.0], SubmittedDuties()
    metrics = Metrics(["hits"])
    schedule = CompactionSchedule(duties, metrics, clock=lambda: now[0])
    schedule.submit_due()  # the service has not started yet
    duties.reload(with_compact(tmp_path))
    counts = []
    for now[0] in (100.0, 699.0, 700.0, 701.0, 1_299.0, 1_300.0):
        schedule.submit_due()
        counts.append(len(duties))
    assert counts == [0, 0, 1, 1, 1, 2]
    assert isinstance(duties[0], CompactionDuty)
    assert (duties[0].subject, duties[0].request) == ("counters", CompactionRequest(window_ms=1_800_000))
    assert 'ingest_compaction_interval_seconds{table="counters"} 600.0' in metrics.render()[1].decode()


def test_a_reload_changes_the_interval(tmp_path):
    now, duties = [0.0], SubmittedDuties(with_compact(tmp_path))
    metrics = Metrics(["hits"])
    schedule = CompactionSchedule(duties, metrics, clock=lambda: now[0])
    schedule.submit_due()
    duties.reload(with_compact(tmp_path, EVERY.replace("10m", "1m")))
    now[0] = 30.0
    schedule.submit_due()
    now[0] = 90.0
    schedule.submit_due()
    assert len(duties) == 1
    duties.reload(configuration(tmp_path))
    now[0] = 10_000.0
    schedule.submit_due()
    assert len(duties) == 1
    assert "ingest_compaction_interval_seconds{" not in metrics.render()[1].decode()


def test_refused_duty_is_submitted_after_the_next_interval(tmp_path):
    now, duties = [0.0], SubmittedDuties(with_compact(tmp_path))
    schedule = CompactionSchedule(duties, Metrics(["hits"]), clock=lambda: now[0])
    schedule.submit_due()
    now[0], duties.error = 600.0, ConflictError("the queue is full")
    schedule.submit_due()
    now[0], duties.error = 1_200.0, None
    schedule.submit_due()
    assert len(duties) == 1


def test_thread_ends_with_the_block(tmp_path):
    with CompactionSchedule(SubmittedDuties(with_compact(tmp_path)), Metrics(["hits"])) as schedule:
        thread = schedule._thread
        assert thread.is_alive()
    assert not thread.is_alive()


@pytest.mark.parametrize("options", ["compact: {}", "compact: {every: 0s}", "compact: {every: 10m, window: 0s}"])
def test_wrong_options(tmp_path, options: str):
    with pytest.raises(ConfigError):
        with_compact(tmp_path, "updates: {processor: sum, " + options + "}")


@pytest.mark.parametrize(
    "duty",
    [
        lambda table: CompactionDuty(table, CompactionRequest()),
        lambda table: RollbackDuty(table, RollbackRequest(first_ms=1, last_ms=2)),
    ],
)
def test_duties_of_a_table(tmp_path, duty):
    shared = SimpleNamespace(configuration=configuration(tmp_path))
    checked = duty("counters")
    checked.check(shared)
    assert (checked.uses(["hits"]), checked.uses(["other"])) == (True, False)
    assert checked.needs_slots is False  # of an embedded store
    assert checked.is_same(duty("counters"))
    assert not checked.is_same(duty("plain"))
    with pytest.raises(ConfigError):
        duty("plain").check(shared)
    with pytest.raises(NotFoundError):
        duty("none").check(shared)
    assert not checked.is_same(CompactionDuty("counters", CompactionRequest(window_ms=5)))


def test_rollback_request_as_json():
    assert RollbackRequest.of(b'{"first_ms": 1, "last_ms": 2}') == RollbackRequest(first_ms=1, last_ms=2)
    with pytest.raises(ConfigError, match="last_ms"):
        RollbackRequest.of(b'{"first_ms": 1}')
