"""A service whose Spark does not start."""

import json
from pathlib import Path

import pytest

from ingest.api import IngestError
from ingest.catalog import Catalog
from ingest.config import load
from ingest.service.lifecycle import Stop
from ingest.service.run import Outcome, RunOptions, run

# PySpark does not tidy up after a Java that did not start
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

PLAIN = {
    "version": 1,
    "stores": {"s": {"rocksdb": {"path": "store"}}},
    "service": {"http": {"listen": "127.0.0.1:0"}},
    "pipelines": {
        "p": {
            "source": {"files": {"path": "."}},
            "decorators": [{"value": {"attribute": "2hb_", "value": "%{offset}"}}],
            "sinks": [{"attr2hbase": {"table": "t"}}],
        }
    },
}


@pytest.fixture(autouse=True)
def _java_that_ends_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = tmp_path / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\nexit 143\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "java"))
    monkeypatch.chdir(tmp_path)


def run_told(stop: Stop) -> Outcome:
    Path("pipeline.yaml").write_text(json.dumps(PLAIN))
    catalog = Catalog()
    return run(load("pipeline.yaml", env={}, lookup=catalog), catalog, RunOptions(), stop)


def test_spark_that_is_told_to_end_with_us_while_it_starts_is_no_failure():
    stop = Stop()
    stop.ask()
    outcome = run_told(stop)
    assert (list(outcome.totals), outcome.errors, outcome.exit_code) == (["p"], [], 0)


def test_spark_that_does_not_start_is_a_failure():
    with pytest.raises(IngestError, match="Java"):
        run_told(Stop())
