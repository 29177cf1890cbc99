"""The splits of dead letters that are replayed."""

from pathlib import Path

import pytest

from ingest.api import Record, RecordPlace
from ingest.catalog import Catalog
from ingest.config import load
from ingest.config.model import Configuration
from ingest.pipeline.in_process import InProcessHost
from ingest.plan.plan import Plan
from ingest.service.replay.dead_letter_replay import DeadLetterReplay
from tests.support.place import own_process
from tests.support.sinks import LINES, PIPELINE

RECORDS = [Record(*place, None, b"x", 500) for place in (("t", 1, 9), ("t", 0, 3), ("t", 0, 4))]


@pytest.fixture
def configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Configuration:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    Path("lining.py").write_text(LINES)
    Path("p.yaml").write_text(PIPELINE)
    return load("p.yaml", env={}, lookup=Catalog())


@pytest.mark.parametrize(
    ("needs_splits", "splits"),
    [(True, (("t", 0, 3), ("t", 0, 4), ("t", 1, 9))), (False, ())],
    ids=["ranks", "no ranks"],
)
def test_each_record_is_a_split(
    configuration: Configuration, monkeypatch: pytest.MonkeyPatch, needs_splits: bool, splits: tuple[RecordPlace, ...]
):
    monkeypatch.setattr(Plan, "needs_splits", needs_splits)
    found = []
    run_tasks = InProcessHost.run_tasks
    monkeypatch.setattr(
        InProcessHost,
        "run_tasks",
        lambda self, spec, **options: (found.append(spec.splits), run_tasks(self, spec, **options))[1],
    )
    with DeadLetterReplay(
        own_process(configuration, Catalog(configuration.plugins)), configuration.pipelines["p"]
    ) as replay:
        counts, dead_letters = replay(RECORDS, 1_000, {})
    assert (counts.stored, dead_letters, found) == (3, [], [splits])
