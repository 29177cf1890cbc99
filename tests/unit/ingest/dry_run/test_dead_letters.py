"""What a replay of dead letters would do."""

import json
from pathlib import Path

from ingest.api import Record
from ingest.catalog import Catalog
from ingest.config import load
from ingest.dead_letters.envelope import DeadLetter
from ingest.dead_letters.queue import Entry
from ingest.dry_run.dead_letters import preview
from ingest.plan.assemble import plan_of
from ingest.service.dead_letters.queues import components_of


def entry(component: str, value: bytes) -> Entry:
    letter = DeadLetter(
        record=Record("t", 0, 1, None, value, 500),
        fan_out=0,
        attributes={},
        pipeline="p",
        component=component,
        code="no_match",
        message="",
        batch_time_ms=1_000,
        fingerprint="",
    )
    return Entry("0", letter)


def test_dead_letter_of_a_sink_runs_into_it_alone(tmp_path: Path) -> None:
    content = {
        "version": 1,
        "stores": {"s": {"memory": {}}},
        "pipelines": {
            "p": {
                "source": {"kafka": {"brokers": "localhost:9092", "topics": ["t"]}},
                "decorators": [{"template": {"attributes": {"2hb_": "row", "2hb_c:n": "%{body}"}}}],
                "sinks": [
                    {"attr2hbase": {"table": "whole", "label": "whole"}},
                    {
                        "hbase": {
                            "table": "numbers",
                            "label": "numbers",
                            "row_key": {"template": "row"},
                            "cells": [{"family": "c", "qualifier": "n", "value": "%{body}", "encoding": "int64"}],
                            "when": "%{body} != ''",
                        }
                    },
                ],
            }
        },
    }
    (tmp_path / "p.yaml").write_text(json.dumps(content))
    configuration = load(tmp_path / "p.yaml", env={}, lookup=Catalog())
    plan = plan_of(configuration, configuration.pipelines["p"], Catalog())
    entries = [entry(name, value) for name in ("whole", "numbers", "source") for value in (b"7", b"many", b"")]
    found = preview(plan, (), entries, components_of(plan))
    assert (found.selected, found.stored, found.unknown) == (9, 6, 0)
    assert (found.failed_again, found.dropped) == ({"not_a_number": 2}, {"no_sink": 1})
