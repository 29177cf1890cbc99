"""The exit code of `attr2hbase run --once`, without a service."""

from collections import Counter

import pytest

from ingest.receipt import Counts
from ingest.service.observer import Totals
from ingest.service.run import Outcome


@pytest.mark.parametrize(
    ("events", "options", "expected"),
    [
        ({"failed": 3}, ["--once"], 1),
        ({"dropped": 2, "failed": 3}, ["--once"], 1),
        ({"stored": 1, "failed": 3}, ["--once"], 0),
        ({"partly_stored": 1, "failed": 3}, ["--once"], 0),  # one sink refuses what the other stores
        ({"dropped": 2}, ["--once"], 0),
        ({"failed": 3}, [], 0),  # a service has stopped as it was told
    ],
)
def test_run_that_stores_nothing_but_dead_letters_fails(ingest, pipeline, monkeypatch, events, options, expected):
    stored = {name: events.get(name, 0) for name in ("stored", "partly_stored")}
    counts = Counts(**stored, dropped=Counter(filter=events.get("dropped", 0)))
    counts.dead_lettered_by["no_match", "regex"] += events.get("failed", 0)
    totals = {"ticks": Totals(batches=1, counts=counts)}
    monkeypatch.setattr("ingest.service.run.run", lambda *_arguments: Outcome(totals, [], 0))
    result = ingest("run", *options, "pipeline.yaml")
    assert result.code == expected
    assert ('pipeline "ticks" has stored nothing' in result.err) == bool(expected)
