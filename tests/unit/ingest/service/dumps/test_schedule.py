"""The daily dump that a file declares."""

import pytest

from ingest.catalog import Catalog
from ingest.config import load
from ingest.config.model import Configuration
from ingest.observe.metrics import Metrics
from ingest.service.dumps.dump import Dump
from ingest.service.dumps.options import DumpRunOptions
from ingest.service.jobs.schedule import Daily
from tests.support.dump_runs import FILE, TABLE, dumped, written

AT = f'{{root: dumps, tables: ["{TABLE}"], at: "02:00", keep: 3d}}'
TWO = 2 * 3600
LAST = 'attr2hbase_dump_last_success_timestamp_seconds{table="answer:testclient1"}'


def configuration(tmp_path, dump: str = AT) -> Configuration:
    file = tmp_path / "p.yaml"
    file.write_text(f"{FILE}dump: {dump}\n" if dump else FILE)
    return load(str(file), env={}, lookup=Catalog())


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_dump_of_each_day(tmp_path):
    (found,) = Dump.scheduled(configuration(tmp_path))
    assert (found.when, found.tables) == (Daily(TWO), (TABLE,))
    assert found.job.is_same(Dump("dumps", DumpRunOptions()))  # its options are those of the file when it runs


@pytest.mark.parametrize("dump", ["", "{root: dumps}"])
def test_nothing_is_scheduled_without_a_time(tmp_path, dump):
    assert Dump.scheduled(configuration(tmp_path, dump)) == []
    metrics = Metrics()
    Dump.schedule_changed(metrics, [], 1.0)
    assert "attr2hbase_dump_interval_seconds{" not in metrics.render()[1].decode()


def test_metrics_have_the_end_of_the_last_dump(tmp_path):
    dumped(written(tmp_path), root="dumps", tables=[TABLE])
    metrics = Metrics()
    Dump.schedule_changed(metrics, Dump.scheduled(configuration(tmp_path)), 2_000_000_000.0)
    text = metrics.render()[1].decode()
    assert 'attr2hbase_dump_interval_seconds{table="answer:testclient1"} 86400.0' in text
    last_s = float(text.partition(LAST)[2].split()[0])
    assert 1_424_736_000 <= last_s < 1_500_000_000


def test_metrics_without_a_dump(tmp_path):
    metrics = Metrics()
    Dump.schedule_changed(metrics, Dump.scheduled(configuration(tmp_path)), 7.0)
    assert f"{LAST} 7.0" in metrics.render()[1].decode()
