"""Records of random bytes, and pipelines with many decorators for them."""

from collections.abc import Mapping
from random import Random
from typing import Any

from tests.support.servers import Given

FORMATS = ("raw", "json", "flume_avro")

_PIECES = (
    b'{"body": "x", "headers": {"2hb_colfam:a": "b"}}',
    b'{"a": 1}',
    b"2238947398:56",
    b"2010-07-26T11:48:05Z",
    b"\x00\x02\x02a\x02b\x00\x04xy",
    b"%{host}",
    b"[" * 2_000,
    b"\xff\xfe\x00",
    b"",
)
_HEADERS = (
    "host",
    "priority",
    "nanos",
    "2hb_",
    "2hb_colfam:q",
    "2hb_made:x",
    "2hb_a/b:x",
    "2hb_",
    "",
    "größe",
    "x" * 200,
)


def chain() -> list[Mapping[str, Any]]:
    """Decorators with and without options that keep failing events."""
    return [
        {"json": {"prefix": "2hb_colfam:", "on_invalid": "keep"}},
        {"regex": {"pattern": "(.)(.)?", "attributes": ["2hb_colfam:r1", "r2"], "on_no_match": "keep"}},
        {"split": {"separator": ":", "index": 0, "attribute": "2hb_colfam:s"}},
        {"timestamp": {"formats": ["iso8601", "epoch_s"], "on_invalid": "keep"}},
        {"rename": {"attributes": {"größe": "2hb_colfam:size"}}},
        {"mask": {"attributes": ["r2"]}},
        {"filter": {"drop": "%{priority} == 'TRACE'", "reason": "trace"}},
        {"value": {"attribute": "2hb_", "value": "%{key}", "when": "%{host} == ''"}},
        {"format": {"template": "%{host}|%{body}"}},
    ]


def pipeline_of(format_name: str, source: Mapping[str, Any], store: str, table: str) -> dict[str, Any]:
    """A pipeline that no number of failures stops, as plain data."""
    return {
        "source": {"kafka": {**source, "format": format_name, "tombstones": "delete"}},
        "decorators": chain(),
        "sinks": [
            {
                "attr2hbase": {
                    "store": store,
                    "table": table,
                    "sys_family": "sys",
                    "write_body": "raw:line",
                    "families": {"max_created": 3},
                }
            }
        ],
        "error_budget": {"share": "100%"},
    }


def table(store: str) -> dict[str, Any]:
    """The table with the families of every event; others are created on demand."""
    return {"store": store, "families": {"sys": {}, "raw": {}, "colfam": {}}}


def random_records(count: int, *, partitions: int, seed: int) -> list[Given]:
    """Random records, most of which fail."""
    random = Random(seed)
    records = []
    for _ in range(count):
        value = None if random.random() < 0.05 else _text(random)
        # a producer refuses a record without both
        has_key = value is None or random.random() < 0.9
        records.append(
            Given(
                value,
                key=_text(random)[:300] if has_key else None,
                headers=[(random.choice(_HEADERS), _text(random)) for _ in range(random.randrange(4))],
                partition=random.randrange(partitions),
                timestamp_ms=random.choice((0, 1, 1_308_748_686_334, 2**41)),
            )
        )
    return records


def _text(random: Random) -> bytes:
    if random.random() < 0.5:
        return random.randbytes(random.randrange(40))
    return b"".join(random.choice(_PIECES) for _ in range(random.randrange(1, 3)))
