"""A service whose Spark does not start."""

import json
from pathlib import Path
from typing import Never

import pytest

from ingest.api import NotFoundError
from ingest.catalog import Catalog
from ingest.config import load
from ingest.service import run as run_module
from ingest.service.lifecycle import Stop
from ingest.service.run import Outcome, RunOptions, run
from tests.support.local import free_ports

PLAIN = {
    "version": 1,
    "stores": {"s": {"rocksdb": {"path": "store"}}},
    "service": {"http": {"listen": f"127.0.0.1:{free_ports(1)[0]}"}},
    "pipelines": {
        "p": {
            "source": {"files": {"path": "."}},
            "decorators": [{"value": {"attribute": "2hb_", "value": "%{offset}"}}],
            "sinks": [{"attr2hbase": {"table": "t"}}],
        }
    },
}


def run_told(stop: Stop, folder: Path, monkeypatch: pytest.MonkeyPatch, *, is_asked: bool) -> Outcome:
    def open_session(*_arguments: object, **_settings: object) -> Never:
        if is_asked:
            stop.ask()
        raise NotFoundError("Spark's Java process did not start")

    monkeypatch.setattr(run_module, "open_session", open_session)
    file = folder / "pipeline.yaml"
    file.write_text(json.dumps(PLAIN))
    monkeypatch.chdir(folder)
    catalog = Catalog()
    return run(load(str(file), env={}, lookup=catalog), catalog, RunOptions(), stop)


def test_spark_that_is_told_to_end_with_us_while_it_starts_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    outcome = run_told(Stop(), tmp_path, monkeypatch, is_asked=True)
    assert (list(outcome.totals), outcome.errors, outcome.exit_code) == (["p"], [], 0)


def test_spark_that_does_not_start_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(NotFoundError):
        run_told(Stop(), tmp_path, monkeypatch, is_asked=False)
