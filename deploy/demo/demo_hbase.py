"""
Start Kafka and HBase from jars, produce ticks, run them through a pipeline, and read them back from the table.

    python deploy/demo/demo_hbase.py

The servers listen only on 127.0.0.1 and are stopped at the end, also after Ctrl-C.
"""

import json
import os
import random
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition
from kafka.admin import NewTopic
from rich.console import Console
from rich.table import Table
from rich.text import Text
from stage import DemoError, Stage, as_text, cells_of, free_port, screen

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "local"))

from local_servers.errors import ServerError
from local_servers.hbase import HBaseServer
from local_servers.kafka import KafkaServer

FILE, TABLE, TOPIC, GROUP = "pipeline.yaml", "mytable", "ticks", "attr2hbase-ticks"
EVENTS, KEYS, PARTITIONS = 5_000, 40, 4
SHOWN_ROWS = 6


def main() -> int:
    """Run the demo; returns 0 if every produced event is in the table."""
    console = screen()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)  # both stop the servers, as Ctrl-C does
    folder = Path(tempfile.mkdtemp(prefix="attr2hbase-demo-hbase-"))
    try:
        with running(console, folder) as (kafka, hbase):
            play(console, folder, kafka.endpoints["brokers"], hbase.bootstrap_servers)
    except (DemoError, ServerError) as error:
        console.print(Text(f"demo failed: {error}\nlogs are in {folder}", style="red"))
        return error.exit_code if isinstance(error, DemoError) else 1
    except KeyboardInterrupt:
        shutil.rmtree(folder, ignore_errors=True)
        return 130
    shutil.rmtree(folder, ignore_errors=True)
    console.print("\nTry next, with servers that keep running:", style="bold")
    for command in ("make services-up", ".venv/bin/attr2hbase init myfirst --template hbase", "make services-down"):
        console.print(f"  {command}", markup=False)
    return 0


@contextmanager
def running(console: Console, folder: Path) -> "Iterator[tuple[KafkaServer, HBaseServer]]":
    """Both servers, running until the block ends."""
    kafka, hbase = KafkaServer(folder / "kafka"), HBaseServer(folder / "hbase", has_thrift=False)
    try:
        with console.status("starting Kafka and HBase (the first time Maven fetches their jars)"):
            hbase.start()  # the slower one first
            kafka.start()
            kafka.wait()
            hbase.wait()
        console.print(f"Kafka on {kafka.endpoints['brokers']}, HBase on {hbase.bootstrap_servers}")
        yield kafka, hbase
    finally:
        with console.status("stopping Kafka and HBase"):
            kafka.stop()
            hbase.stop()
        console.print("\nKafka and HBase are stopped")


def play(console: Console, folder: Path, brokers: str, bootstrap_servers: str) -> None:
    """The whole demo: jars, topic, table, events, run, scan, lag."""
    port = free_port()
    shutil.copy(Path(__file__).with_name("hbase.yaml"), folder / FILE)
    produced = write_sample(folder / "events.jsonl")
    variables = {"KAFKA": brokers, "HBASE": bootstrap_servers, "HTTP_PORT": str(port)}
    stage = Stage(console, folder, port, {**os.environ, **variables})
    stage.ingest("jars", "fetch")
    create_topic(brokers)
    console.print(f'topic "{TOPIC}" created with {PARTITIONS} partitions')
    console.print(stage.ingest("table", "apply").rstrip())
    console.print(stage.ingest("produce", "--events", "events.jsonl").rstrip())
    (totals,) = stage.run_once(FILE, EVENTS, "events").values()
    console.print(f"{totals['read']:,} read, {totals['stored']:,} stored, {totals['cells']:,} cells")
    stage.expect("events read", EVENTS, totals["read"])
    stage.expect("events stored", EVENTS, totals["stored"])
    stage.announce("scan", TABLE, is_shortened=True)
    check_table(stage, produced)
    show_lag(stage, brokers)


def write_sample(path: Path) -> Counter[tuple[str, str, str]]:
    """Write ticks for `attr2hbase produce`; returns (key, time, value) -> how often it occurs."""
    chance = random.Random(1)  # noqa: S311 - sample data
    ticks = [
        (f"k{chance.randrange(KEYS)}", str(2_238_947_398 + number), str(chance.randint(10, 99)))
        for number in range(EVENTS)
    ]
    lines = (json.dumps({"body": f"{moment}:{value}", "key": key}) + "\n" for key, moment, value in ticks)
    path.write_text("".join(lines))
    return Counter(ticks)


def create_topic(brokers: str) -> None:
    """Create the topic that the pipeline reads."""
    admin = KafkaAdminClient(bootstrap_servers=brokers)
    try:
        admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])
    finally:
        admin.close()


def check_table(stage: Stage, produced: Counter[tuple[str, str, str]]) -> None:
    """Show some rows, and compare all rows with the produced events."""
    rows = stage.rows("scan", TABLE, quiet=True)
    table = Table("row", "colfam:ts", "colfam:value", "written at")
    found: Counter[tuple[str, str, str]] = Counter()
    for number, row in enumerate(rows):
        key, cells = as_text(row["row"]), cells_of(row)
        found[key.partition("-")[0], cells["colfam:ts"], cells["colfam:value"]] += 1
        if number < SHOWN_ROWS:
            table.add_row(key, cells["colfam:ts"], cells["colfam:value"], moment(row["cells"][0][2]))
    stage.console.print(table)
    stage.expect("rows in the table", EVENTS, len(rows))
    stage.expect("events that are not in the table", Counter(), produced - found)
    stage.console.print(f"all {EVENTS:,} events are in the table, one row each", style="green")


def moment(time_ms: int) -> str:
    """A timestamp as ISO 8601."""
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="milliseconds")


def show_lag(stage: Stage, brokers: str) -> None:
    """Show the end offset and the committed offset of each partition."""
    parts = [TopicPartition(TOPIC, number) for number in range(PARTITIONS)]
    consumer = KafkaConsumer(bootstrap_servers=brokers, enable_auto_commit=False)
    admin = KafkaAdminClient(bootstrap_servers=brokers)
    try:
        ends = consumer.end_offsets(parts)
        committed = admin.list_group_offsets({GROUP: None})[GROUP]
    finally:
        consumer.close()
        admin.close()
    table = Table("partition", "end", f"committed by {GROUP}", "lag")
    lags = {}
    for part in parts:
        offset = committed[part].offset if part in committed else 0
        lags[part.partition] = ends[part] - offset
        table.add_row(str(part.partition), str(ends[part]), str(offset), str(lags[part.partition]))
    stage.console.print(table)
    stage.expect("lag of each partition", dict.fromkeys(range(PARTITIONS), 0), lags)


if __name__ == "__main__":
    sys.exit(main())
