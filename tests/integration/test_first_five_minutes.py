"""The commands of the README, from an empty folder to rows in a table."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.commands import ANY_PORT, Folder
from tests.support.names import unique
from tests.support.service import ROOT
from tests.support.short_lived import COMPILE_LITTLE, INSTALLED_SPARK

if TYPE_CHECKING:
    from tests.support.servers import Kafka

README = (ROOT / "README.md").read_text("utf-8")
SPARK = {
    # an activated environment in which the package is installed
    "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
    "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "deploy" / "spark"), str(INSTALLED_SPARK)]),
}


def test_files_to_rows(tmp_path: Path) -> None:
    ingest = Folder(tmp_path)
    assert "next: attr2hbase test" in ingest("init").stderr
    ingest.add(ANY_PORT)

    assert ingest.here("test", "pipeline.yaml").stderr.startswith("2 tests passed\n")
    assert "1 kept, 1 dropped, 1 failed" in ingest.here("explain", "pipeline.yaml", "--events", "events.jsonl").stderr

    ran = ingest("run", "--once", "pipeline.yaml")
    assert ran.stdout.splitlines()[2].split()[:7] == ["ticks", "14", "10", "3", "1", "10", "20"]
    assert "Traceback" not in ran.stderr
    assert "ticks: dropped: comment 3\nticks: dead-lettered: no_match 1\n" in ran.stdout
    following = "next: attr2hbase scan mytable\n      attr2hbase dead-letters list\n"
    assert following in ran.stderr

    scanned = ingest.here("scan", "mytable")
    assert scanned.stdout.split()[0] == "monday.txt:000017"
    assert scanned.stderr.startswith("10 rows\n")
    got = ingest.here("get", "mytable", "tuesday.txt:000072", "--output", "json")
    assert [cell[1::2] for cell in json.loads(got.stdout)["cells"]] == [["ts", "2239033802"], ["value", "64"]]
    shell, _, shown = README.partition("$ spark-sql ")[2].partition("```")[0].partition('BY file"\n')
    queried = subprocess.run(
        ["bash", "-c", f'spark-sql {shell}BY file"'],
        cwd=tmp_path,
        env=ingest.environment | SPARK,
        capture_output=True,
        text=True,
        check=False,
    )
    assert queried.stdout == shown, (tmp_path / "run.log").read_text()
    assert "1 dead letter\n" in ingest.here("dead-letters", "list").stderr

    # nothing is read again; a file that is damaged ends nothing, and is read once it is repaired
    damaged, whole = tmp_path / "ticks" / "later.gz", gzip.compress(b"1:2\n3:4\n")
    damaged.write_bytes(whole[:-9])
    (tmp_path / "ticks" / "other.txt").write_text("5:6\n")
    again = json.loads(ingest("run", "--once", "pipeline.yaml", "--output", "json").stdout)["ticks"]
    assert (again["read"], again["stored"], again["dead_lettered"]) == (2, 1, {"damaged_file": 1})
    assert f"{damaged}/0/0 to the end" in ingest.here("dead-letters", "list").stdout
    damaged.write_bytes(whole)
    ingest("dead-letters", "replay", "--code", "damaged_file")
    scanned = ingest.here("scan", "mytable", "--output", "json").stdout.splitlines()
    new = ["later.gz:000000", "later.gz:000004", "other.txt:000000"]
    assert [row for row in (json.loads(line)["row"] for line in scanned) if row in new] == new
    refused = ingest("run", "--once", "pipeline.yaml", "--start-from", "earliest", code=2)
    assert "does not support --start-from" in refused.stderr


def test_kafka_to_rows(tmp_path: Path, kafka: "Kafka") -> None:
    # the connector comes with the command alone, as it does outside of these tests
    alone = {"SPARK_DIST_CLASSPATH": "", "SPARK_SUBMIT_OPTS": COMPILE_LITTLE}
    ingest = Folder(tmp_path, KAFKA=kafka.brokers, **alone)
    ingest("init", "--template", "kafka")
    ingest.add(ANY_PORT)
    ticks = unique("ticks")
    text = (tmp_path / "pipeline.yaml").read_text()
    (tmp_path / "pipeline.yaml").write_text(text.replace("topics: [ticks]", f"topics: [{ticks}]"))

    assert ingest.here("validate", "pipeline.yaml", "--connect", code=3).stdout.count("PROBLEM") == 1
    produced = ingest.here("produce", "--events", "events.jsonl", "--topic", ticks, "--count", "50", "--rate", "500")
    assert produced.stdout.startswith(f'50 events in topic "{ticks}"')
    (tmp_path / "more.txt").write_text("2238947500:60\n2238947501:61\n")
    produced = ingest.here("produce", "--lines", "more.txt", "--pipeline", "ticks", "--output", "json")
    assert json.loads(produced.stdout)["events"] == 2
    assert ingest.here("validate", "pipeline.yaml", "--connect").stdout.count("fine  ") == 2

    ran = ingest("run", "--once", "pipeline.yaml", "--start-from", "earliest", "--output", "json")
    counts = json.loads(ran.stdout)["ticks"]
    # lines have no key, of which the row key is made
    assert (counts["read"], counts["stored"], counts["dead_lettered"]) == (52, 50, {"no_attribute": 2})
    rows = ingest.here("scan", "mytable", "--output", "json").stdout.splitlines()
    assert len(rows) == 50
