"""The samples of a region server's metrics."""

import json

import pytest

from ingest.api import ConfigError
from ingest.doctor.hbase.gathering import Sources, gathered
from ingest.doctor.hbase.jmx import SERVER
from tests.support.pages import serving

WITHOUT = json.dumps({"beans": [{"name": "java.lang:type=Memory"}]}).encode()
WITH = json.dumps({"beans": [{"name": SERVER, "regionCount": 7}]}).encode()
CONF = b"<configuration></configuration>"


def regions(pages: list[bytes], interval_s: float = 0.0) -> tuple[int | None, list[float]]:
    """The number of regions in the last sample, and the pauses."""
    pauses: list[float] = []
    with serving({"/jmx": pages, "/conf": CONF}) as url:
        found = gathered(Sources(jmx=url, interval_s=interval_s), None, pause=pauses.append)
    return None if found.sample is None else found.sample["regionCount"], pauses


def test_metrics_that_are_away_for_a_moment_are_read_again() -> None:
    assert regions([WITH]) == (7, [])
    assert regions([WITHOUT, WITH]) == (7, [2.0])
    assert regions([WITH, WITHOUT, WITH], interval_s=60.0) == (7, [60.0, 2.0])


def test_page_of_another_process_is_refused() -> None:
    with pytest.raises(ConfigError, match="has no bean"):
        regions([WITHOUT])
