"""The workload of the benchmarks: access-log lines of about 170 bytes, a regex with nine groups, nine cells a row."""

import json
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.servers import Given

PATTERN = r'^(\S+) (\S+) (\S+) \[([^\]]+)\] "(\S+) (\S+) ([^"]+)" (\d+) (\d+)'
FAMILY = "web"
TABLE = "access"
PIPELINE = "access"
STORE = "logs"
COLUMNS = ("ip", "ident", "user", "time", "method", "path", "proto", "status", "size")
LINE = "line"
"""Column of the body."""
MAX_EVENTS_PER_BATCH = 200_000
"""The default of the option."""
SEED = 20260101
_PADDING = "0123456789abcdef"


@dataclass(frozen=True)
class Workload:
    """
    A pipeline over the lines; the defaults are those of the goals.

    Attributes:
        cells: number of cells of a row: the groups of the regex first, then constants.
        body_bytes: length to which lines are padded; they are also stored as a further cell. None for no padding.
        chain: number of decorators.
        row: template of the row key.
        family: options of the column family.
        sink: further options of the sink.
        buckets: of the table; None for a table without.
        feed: whether the table has a feed of its changes, in four shards.
        bulk_load: of the table; empty for calls alone.
    """

    cells: int = len(COLUMNS)
    body_bytes: int | None = None
    chain: int = 1
    row: str = "%{topic}:%{partition}:%{offset}"
    family: dict[str, Any] = field(default_factory=dict)
    sink: dict[str, Any] = field(default_factory=dict)
    buckets: int | None = None
    feed: bool = False
    bulk_load: str = ""

    @property
    def table(self) -> str:
        """Name of the table."""
        name = TABLE if self.buckets is None else f"{TABLE}-{self.buckets}"
        return f"{name}-changes" if self.feed else name

    def lines(self, count: int) -> Iterator[bytes]:
        """Access-log lines, the same for every run."""
        chosen = random.Random(SEED)
        for number in range(count):
            address = ".".join(str(chosen.randrange(1, 255)) for _ in range(4))
            size = chosen.randrange(100, 90_000)
            status = chosen.choice((200, 200, 200, 304, 404, 500))
            line = (
                f"{address} - - [26/Jul/2026:11:{number // 60 % 60:02d}:{number % 60:02d} +0000] "
                f'"GET /shop/item/{number}?page={number % 97} HTTP/1.1" {status} {size} '
                f'"https://example.org/start" "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101"'
            )
            if self.body_bytes is not None:
                line = line[: self.body_bytes].ljust(self.body_bytes, _PADDING[number % 16])
            yield line.encode()

    def decorators(self) -> list[dict[str, Any]]:
        """The chain, the row key last."""
        named = [f"2hb_{FAMILY}:{name}" if number < self.cells else name for number, name in enumerate(COLUMNS)]
        chain: list[dict[str, Any]] = [{"regex": {"pattern": PATTERN, "attributes": named}}]
        more = [
            {"split": {"separator": " ", "index": 5, "attribute": "path_of_line"}},
            {"value": {"attribute": "key_of_line", "value": "%{path_of_line}:%{nanos}"}},
            {"value": {"attribute": "constant", "value": "bench"}},
        ]
        while len(chain) < self.chain:
            chain.append(more[(len(chain) - 1) % len(more)])
        for number in range(len(COLUMNS), self.cells):
            chain.append({"value": {"attribute": f"2hb_{FAMILY}:constant{number}", "value": f"{number}"}})
        return [*chain, {"value": {"attribute": "2hb_", "value": self.row}}]

    def content(self, *, brokers: str, topic: str, group: str, store: dict[str, Any]) -> dict[str, Any]:
        """The pipeline file as plain data."""
        sink = {"table": self.table, **self.sink}
        if self.body_bytes is not None:
            sink["write_body"] = f"{FAMILY}:{LINE}"
        table: dict[str, Any] = {"families": {FAMILY: self.family}}
        if self.buckets is not None:
            table["distribute"] = {"hash": self.buckets}
        if self.feed:
            table["feed"] = {"shards": 4}
        if self.bulk_load:
            table["bulk_load"] = self.bulk_load
        return {
            "version": 1,
            "stores": {STORE: store},
            "tables": {self.table: table},
            "pipelines": {
                PIPELINE: {
                    "source": {"kafka": {"brokers": brokers, "topics": [topic], "group": group}},
                    "decorators": self.decorators(),
                    "sinks": [{"attr2hbase": sink}],
                }
            },
        }


def archived(content: dict[str, Any]) -> dict[str, Any]:
    """A pipeline file of `Workload.content` whose sink is an archive in Parquet, with the cells as columns of text."""
    (pipeline,) = content["pipelines"].values()
    columns = {name: f"%{{'2hb_{FAMILY}:{name}'}}" for name in COLUMNS}
    sink = {"root": "./archive", "table": TABLE, "columns": columns}
    return {"version": 1, "pipelines": {PIPELINE: pipeline | {"sinks": [{"archive": sink}]}}}


def dealt(lines: Iterable[bytes], partitions: int) -> Iterator[Given]:
    """Records for the partitions of a topic in turn."""
    return (Given(line, partition=number % partitions) for number, line in enumerate(lines))


def written(content: dict[str, Any], folder: Path) -> str:
    """Write a pipeline file with this content; returns its path."""
    file = folder / "pipeline.yaml"
    file.write_text(json.dumps(content))
    return str(file)
