"""A minimal pipeline from Kafka: the record's key is the row key, its value a cell."""

from pathlib import Path
from typing import Any

from tests.support import ticks
from tests.support.servers import Kafka

PIPELINE = "ticks"


def content_of(kafka: Kafka, folder: Path, topic: str, group: str, **source: Any) -> dict[str, Any]:
    """The pipeline into RocksDB, as plain data."""
    return {
        "stores": {"embedded": ticks.rocksdb(folder / "store")},
        "pipelines": {
            PIPELINE: {
                "source": {"kafka": {"brokers": kafka.brokers, "topics": [topic], "group": group, **source}},
                "decorators": [
                    {"value": {"attribute": "2hb_", "value": "%{key}"}},
                    {"value": {"attribute": "2hb_colfam:value", "value": "%{body}"}},
                ],
                "sinks": [{"attr2hbase": {"table": "t"}}],
            }
        },
    }
