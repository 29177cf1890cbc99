"""A service that compacts the table it writes, with real servers."""

import json
from pathlib import Path

import pytest

from tests.support import ticks
from tests.support.names import unique
from tests.support.servers import HBase, Kafka, Protocol
from tests.support.service import Service
from tests.support.ticks import Ticks

EVENTS = 2_000


@pytest.mark.slow
def test_service_compacts_its_table_between_micro_batches(
    kafka: Kafka, hbase: HBase, protocol: Protocol, tmp_path: Path
) -> None:
    """One row that every event updates; its sum is exact, while compactions run on Spark."""
    made = Ticks.produced(kafka, EVENTS, partitions=2)
    table = unique("counters")
    source = ticks.pipeline(kafka, made.topic, "cluster", table, group=unique("group"))["source"]
    content = {
        "stores": {"cluster": {"hbase": hbase.store_options(protocol, thrift2=True)}},
        "tables": {
            table: {
                "families": {"c": {}},
                "updates": {"processor": "sum", "compact": {"every": "2s", "older_than": "0s", "window": "1h"}},
            }
        },
        "pipelines": {
            "hits": {
                "source": source,
                "sinks": [
                    {
                        "hbase": {
                            "table": table,
                            "row_key": {"template": "all"},
                            "cells": [{"family": "c", "qualifier": "hits", "value": "1"}],
                        }
                    }
                ],
            }
        },
    }
    with Service(tmp_path / "service", content) as service:
        applied = service.ingest("table apply")
        assert applied.returncode == 0, applied.stderr
        service.start()
        service.wait_for_state("running", "hits")
        for _ in range(5):
            made = made.more(kafka, EVENTS)
            service.wait_for_offsets(made.ends, "hits", made.topic)
            before = service.metric("attr2hbase_jobs_ended_total", kind="compaction", state="done")
            service.wait_for(
                lambda before=before: (
                    service.metric("attr2hbase_jobs_ended_total", kind="compaction", state="done") > before + 1
                ),
                "two compactions",
                120,
            )
        found = service.ingest("get", table, "all", "--output", "json")
        assert json.loads(found.stdout)["cells"][0][3] == str(6 * EVENTS), found.stderr
        assert service.metric("attr2hbase_compaction_rows_total", table=table) > 0
        raw = service.ingest("scan", table, "--raw", "--output", "json")
        assert len(raw.stdout.splitlines()) <= 2  # windows
        assert service.stop() == 0, service.last_lines()
