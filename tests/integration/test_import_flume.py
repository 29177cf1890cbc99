"""An imported Flume 0.9 data flow writes the same row on Spark: the first example of Flume's HBase sink."""

import json
from pathlib import Path

import pytest

from tests.support.commands import ANY_PORT, Folder
from tests.support.servers import Given, HBase, Kafka

FLOW = (
    'split(":",0,"2hb_colfam:ts") split(":",1,"2hb_colfam:value") format("%{{nanos}}:") split(":",0,"2hb_") '
    'attr2hbase("{table}","","","2hb_","1000","false")'
)


@pytest.mark.one_protocol("an imported flow writes through a Thrift server, as Flume did")
def test_imported_flow_writes_the_row_of_nanos_without_wal(tmp_path: Path, kafka: Kafka, hbase: HBase) -> None:
    table = hbase.create_table("mytable", families=["colfam"])
    ingest = Folder(tmp_path, KAFKA=kafka.brokers, HBASE=hbase.host)
    ingest("import-flume", "--text", FLOW.format(table=table), "-o", "pipeline.yaml")
    text = (tmp_path / "pipeline.yaml").read_text()
    assert "write_to_wal: false" in text
    topic = kafka.create_topic("flume")
    text = text.replace("topics: [flume]", f"topics: [{topic}]").replace("port: 9090", f"port: {hbase.port}")
    (tmp_path / "pipeline.yaml").write_text(text)
    ingest.add(ANY_PORT)
    kafka.produce(topic, [Given(b"2238947398:56", headers=(("nanos", b"1234567"),))])
    ran = ingest("run", "--once", "pipeline.yaml", "--start-from", "earliest", "--output", "json")
    assert json.loads(ran.stdout)["flume"]["stored"] == 1
    with hbase.connection() as connection:
        rows = dict(connection.table(table).scan())
    assert rows == {b"1234567": {b"colfam:ts": b"2238947398", b"colfam:value": b"56"}}
