"""What every rung works on: access-log lines of about 170 bytes, one regex of nine groups, nine cells a row."""

import random
from collections.abc import Iterator
from pathlib import Path

PATTERN = r'^(\S+) (\S+) (\S+) \[([^\]]+)\] "(\S+) (\S+) ([^"]+)" (\d+) (\d+)'
FAMILY = "web"
COLUMNS = ("ip", "ident", "user", "time", "method", "path", "proto", "status", "size")
ATTRIBUTES = [f"2hb_{FAMILY}:{name}" for name in COLUMNS]
SEED = 20260101


def lines(count: int) -> Iterator[bytes]:
    """Access-log lines, the same for every run."""
    chosen = random.Random(SEED)
    for number in range(count):
        address = ".".join(str(chosen.randrange(1, 255)) for _ in range(4))
        size = chosen.randrange(100, 90_000)
        status = chosen.choice((200, 200, 200, 304, 404, 500))
        yield (
            f"{address} - - [26/Jul/2026:11:{number // 60 % 60:02d}:{number % 60:02d} +0000] "
            f'"GET /shop/item/{number}?page={number % 97} HTTP/1.1" {status} {size} '
            f'"https://example.org/start" "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101"'
        ).encode()


def pipeline(*, brokers: str, topic: str, folder: str, table: str = "access", store: str | None = None) -> str:
    """The pipeline file: WAL on, one sync before each acknowledgement; each folder has a group of its own."""
    attributes = ", ".join(f'"{name}"' for name in ATTRIBUTES)
    store = store or f"{{rocksdb: {{path: {folder}/store}}}}"
    return f"""
version: 1
state_dir: {folder}/state
service: {{http: {{listen: "127.0.0.1:0"}}, log: {{level: warning}}}}
stores:
  logs: {store}
tables:
  {table}: {{families: {{web: {{}}}}}}
pipelines:
  access:
    source: {{kafka: {{brokers: "{brokers}", topics: [{topic}], group: {Path(folder).name}}}}}
    decorators:
      - regex:
          pattern: '{PATTERN}'
          attributes: [{attributes}]
      - value: {{attribute: "2hb_", value: "%{{topic}}:%{{partition}}:%{{offset}}"}}
    sinks:
      - attr2hbase: {{table: {table}}}
"""
