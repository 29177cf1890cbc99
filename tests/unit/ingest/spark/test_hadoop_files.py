"""The settings of the connection to HDFS; tests/integration/test_hdfs_files.py uses one."""

import zipfile
from pathlib import Path

import pyspark
import pytest

from ingest.spark.hadoop_files import OBSERVER_SYNC, SETTINGS, settings_for

CLASSES = {
    "dfs.client.failover.max.attempts": "client/HdfsClientConfigKeys$Failover",
    "dfs.client.failover.sleep.max.millis": "client/HdfsClientConfigKeys$Failover",
    "dfs.client.retry.max.attempts": "client/HdfsClientConfigKeys$Retry",
    OBSERVER_SYNC: "server/namenode/ha/ObserverReadProxyProvider",
}


@pytest.mark.parametrize("name", CLASSES)
def test_hadoop_has_the_settings_of_high_availability(name: str):
    (jar,) = (Path(pyspark.__file__).parent / "jars").glob("hadoop-client-api-*.jar")
    with zipfile.ZipFile(jar) as classes:
        assert name.encode() in classes.read(f"org/apache/hadoop/hdfs/{CLASSES[name]}.class")


def test_calls_to_several_namenodes_fail_after_seconds():
    attempts, sleep_ms = SETTINGS["dfs.client.failover.max.attempts"], SETTINGS["dfs.client.failover.sleep.max.millis"]
    assert int(attempts) * int(sleep_ms) < 10_000
    assert int(SETTINGS["dfs.client.retry.max.attempts"]) <= int(attempts)


@pytest.mark.parametrize("place", ["Ticks", "namenode1:8020"])
def test_reads_from_an_observer_namenode_are_current(place: str):
    host = place.partition(":")[0]
    assert settings_for(f"hdfs://{place}/state")[f"{OBSERVER_SYNC}.{host}"] == "0"
