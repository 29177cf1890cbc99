"""The limits of the source that the task of a plan has."""

from pathlib import Path

import pytest
import yaml

from ingest.api import Record
from ingest.catalog import Catalog
from ingest.config import load
from ingest.plan.assemble import live_task, plan_of
from tests.support.without_spark import staging_spec

MAX_EVENT_BYTES = 12_345


def counts_of(tmp_path: Path, sink):
    """Of a record that becomes three events."""
    content = {
        "version": 1,
        "stores": {"logs": {"rocksdb": {"path": str(tmp_path / "store")}}},
        "pipelines": {
            "p": {
                "source": {"files": {"path": str(tmp_path), "max_event_bytes": f"{MAX_EVENT_BYTES}B"}},
                "decorators": [
                    {"explode": {"form": "lines"}},
                    {"value": {"attribute": "2hb_", "value": "%{fan_out()}"}},
                ],
                "sinks": [sink],
            }
        },
    }
    (tmp_path / "p.yaml").write_text(yaml.safe_dump(content))
    configuration = load(tmp_path / "p.yaml", env={}, lookup=Catalog())
    task = live_task(plan_of(configuration, configuration.pipelines["p"], Catalog()))
    return task.run([Record("a", 0, 0, None, b"1\n2\n3", 500)], staging_spec(tmp_path)).counts


ROWS = {"attr2hbase": {"table": "t", "write_body": "f:body"}}


@pytest.mark.parametrize(
    ("module", "stored", "sink"),
    [
        ("ingest.pipeline.chain", 0, ROWS),
        ("sinks.writing.record_bytes", 1, ROWS),
        ("sinks.writing.record_bytes", 1, {"archive": {"root": "archive", "table": "t"}}),
    ],
    ids=["what events hold", "what they write", "what they archive"],
)
def test_limits_of_a_record_follow_the_largest_event(monkeypatch, tmp_path, module, stored, sink):
    monkeypatch.chdir(tmp_path)
    assert counts_of(tmp_path, sink).stored == 3
    monkeypatch.setattr(f"{module}.max_grown", lambda size: 0 if size == MAX_EVENT_BYTES else 1 << 40)
    monkeypatch.setattr("ingest.pipeline.growth._FEW_EVENTS", 0)
    counts = counts_of(tmp_path, sink)
    assert counts.stored == stored
    assert counts.dead_lettered["too_large"] == (3 - stored if stored else 1)
