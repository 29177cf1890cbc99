"""Where the state of a service is."""

from ingest.catalog import Catalog
from ingest.config import load
from ingest.spark.state import java_properties, spark_conf, state_of

FILE = """\
version: 1
stores: {logs: memory}
spark: {conf: {spark.ui.enabled: "true"}}
pipelines:
  ticks:
    source: {kafka: {brokers: "localhost:9092", topics: [ticks]}}
    sinks: [{attr2hbase: {table: mytable}}]
"""
MANAGER = "spark.sql.streaming.checkpointFileManagerClass"


def configured(tmp_path, text):
    path = tmp_path / "pipeline.yaml"
    path.write_text(text)
    return load(path, env={}, lookup=Catalog())


def test_local_state_needs_no_java(tmp_path):
    configuration = configured(tmp_path, FILE + f"state_dir: {tmp_path}\n")
    assert state_of(configuration) == tmp_path
    assert spark_conf(configuration) == {"spark.ui.enabled": "true"}


def test_spark_renames_files_of_a_cluster_in_one_act(tmp_path):
    configuration = configured(tmp_path, FILE + "state_dir: hdfs://namenode/state\n")
    conf = spark_conf(configuration)
    assert conf["spark.ui.enabled"] == "true"
    assert conf[MANAGER].endswith(".FileContextBasedCheckpointFileManager")
    assert conf["spark.hadoop.ipc.client.connect.max.retries"] == "2"


def test_java_gets_the_values_of_all_pipelines(tmp_path):
    sasl = '{mechanism: oauthbearer, token_url: "http://localhost:%d/t", client_id: c, client_secret: "${W:canary}"}'
    source = '{kafka: {brokers: "localhost:9092", topics: [t], security: {sasl: %s}}}'
    text = FILE + "".join(
        f"  p{n}:\n    source: {source % (sasl % port)}\n    sinks: [{{attr2hbase: {{table: mytable}}}}]\n"
        for n, port in enumerate((1, 2, 1))
    )
    assert java_properties(configured(tmp_path, text)) == {
        "org.apache.kafka.sasl.oauthbearer.allowed.urls": "http://localhost:1/t,http://localhost:2/t"
    }
