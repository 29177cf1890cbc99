"""The scenario list without Spark: the same records and results as in integration/test_pipeline_scenarios.py."""

import json
from collections import Counter
from pathlib import Path

import pytest

from ingest.catalog import Catalog
from ingest.config import load
from ingest.dead_letters.envelope import DeadLetter
from tests.support.audit import table_of
from tests.support.scenarios import SCENARIOS, Scenario
from tests.support.without_spark import WithoutSpark, records_of

TIME_MS = 1_700_000_000_000


def prepared(scenario: Scenario, folder: Path) -> WithoutSpark:
    content = {
        "version": 1,
        "stores": {"kept": {"memory": {}}},
        "tables": {scenario.name: scenario.table("kept")},
        "pipelines": {scenario.name: scenario.pipeline_of({"brokers": "localhost:9092", "topics": ["t"]}, "kept")},
    }
    file = folder / "pipeline.yaml"
    file.write_text(json.dumps(content))
    return WithoutSpark(load(file, env={}, lookup=Catalog()), scenario.name, folder / "incoming")


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_scenario_without_spark(scenario: Scenario, tmp_path: Path) -> None:
    pipeline = prepared(scenario, tmp_path)
    records = records_of(scenario.records)
    counts, dead_letters = pipeline.run(records, TIME_MS)
    first = table_of(pipeline.store, scenario.name, versions=10)
    assert {key: {b"%s:%s" % cell[:2]: cell.value for cell in cells} for key, cells in first.items()} == scenario.rows
    assert {cell.timestamp_ms for cells in first.values() for cell in cells} <= {TIME_MS}
    decoded = [DeadLetter.from_json(line) for line in dead_letters]
    assert {each.record.offset: each.code for each in decoded} == scenario.letters
    assert len(decoded) == len(scenario.letters)
    assert {each.record.offset: each.component for each in decoded}.items() >= scenario.refused_by.items()
    assert [each.record for each in decoded] == [records[each.record.offset] for each in decoded]
    assert (counts.read, counts.stored, dict(counts.dropped)) == (
        len(records),
        scenario.stored,
        dict(scenario.dropped),
    )
    assert counts.dead_lettered == Counter(scenario.letters.values())

    # replayed, as after a crash before the acknowledgement: nothing changes
    pipeline.run(records, TIME_MS)
    assert table_of(pipeline.store, scenario.name, versions=10) == first
