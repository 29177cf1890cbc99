"""The write rate of a running service."""

import pytest

from ingest.api import ConfigError
from ingest.doctor.service_metrics import stored_bytes
from ingest.observe.metrics import Metrics
from ingest.receipt import Counts


@pytest.fixture
def page():
    metrics = Metrics(["ticks", 'a "quoted" name'], process=False)
    metrics.observe_batch("ticks", Counts(bytes=3_000_000_000), 0.1)
    metrics.observe_batch('a "quoted" name', Counts(bytes=5), 0.1)
    return metrics.render()[1]


def test_bytes_of_all_pipelines_are_summed(page):
    assert stored_bytes(page, "url") == 3_000_000_005


def test_bytes_of_named_pipelines_are_summed(page):
    assert stored_bytes(page, "url", {"ticks", "other"}) == 3_000_000_000
    assert stored_bytes(page, "url", {'a "quoted" name'}) == 5


@pytest.mark.parametrize("pipelines", [None, {"x"}])
@pytest.mark.parametrize("content", [b"up 1\n", b"", b"<html>{</html>", b"attr2hbase_bytes_total 1\n", b"up \xff"])
def test_page_of_another_program_is_refused(content, pipelines):
    with pytest.raises(ConfigError, match="has no metric"):
        stored_bytes(content, "url", pipelines)


def test_page_of_another_service_is_refused(page):
    with pytest.raises(ConfigError, match="of the pipelines in the file"):
        stored_bytes(page, "url", {"other"})
