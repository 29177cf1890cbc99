"""Metrics of a region server."""

import json

import pytest

from ingest.api import ConfigError
from ingest.doctor.hbase.jmx import MissingMetricError, Sample, write_rate, written_regions

SERVER = "Hadoop:service=HBase,name=RegionServer,sub=Server"


def page(*beans):
    return json.dumps({"beans": list(beans)}).encode()


def sample(content, at_s=0.0):
    return Sample.parse(content, url="http://rs/jmx", at_s=at_s)


def test_metrics_of_the_beans_are_read():
    found = sample(
        page(
            {"name": "java.lang:type=Memory", "HeapMemoryUsage": {"max": 1000, "used": 5}},
            {"name": SERVER, "tag.Context": "regionserver", "memStoreSize": 7, "percentFilesLocal": 99.5, "on": True},
            {"name": "Hadoop:service=HBase,name=RegionServer,sub=WAL", "writtenBytes": 400},
            {
                "name": "Hadoop:service=HBase,name=RegionServer,sub=Regions",
                "Namespace_default_table_t_region_abc_metric_writeRequestCount": 3,
                "Namespace_default_table_t_region_abc_metric_readRequestCount": 9,
                "numRegions": 1,
            },
        ),
        at_s=5.0,
    )
    assert found == Sample(5.0, 1000, {"memStoreSize": 7}, 400, {"Namespace_default_table_t_region_abc": 3})
    assert found["memStoreSize"] == 7
    with pytest.raises(MissingMetricError, match="flushQueueLength"):
        found["flushQueueLength"]


@pytest.mark.parametrize("memory", [{}, {"HeapMemoryUsage": None}, {"HeapMemoryUsage": {"max": -1}}])
def test_jvm_without_a_maximum_has_an_unknown_heap(memory):
    assert sample(page({"name": "java.lang:type=Memory", **memory}, {"name": SERVER})).heap is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<html>", "is not JSON"),
        (b"[]", 'has no "beans"'),
        (b'{"beans": 1}', 'has no "beans"'),
        (page({"name": "Hadoop:service=HBase,name=Master,sub=Server"}, 5, {"name": 7}), "has no bean"),
    ],
)
def test_other_pages_are_refused(content, message):
    with pytest.raises(ConfigError, match=message) as caught:
        sample(content)
    assert "http://HOST:16030/jmx" in caught.value.hint


def test_write_rate_is_that_of_the_log():
    assert write_rate(Sample(10.0, wal_bytes=1000), Sample(70.0, wal_bytes=7000)) == 100.0


@pytest.mark.parametrize(("before", "after"), [(None, 5), (5, None), (7000, 1000)])
def test_write_rate_of_a_restarted_server_is_unknown(before, after):
    assert write_rate(Sample(0.0, wal_bytes=before), Sample(60.0, wal_bytes=after)) is None


def test_regions_with_new_writes_are_counted():
    before = Sample(0.0, region_writes={"same": 5, "more": 5})
    after = Sample(60.0, region_writes={"same": 5, "more": 6, "new": 1, "empty": 0})
    assert (written_regions(before, after), written_regions(before, Sample(60.0))) == (2, None)
