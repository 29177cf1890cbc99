"""The tasks that a worker process keeps."""

import pytest

from ingest.api import CatalogError
from ingest.catalog import Catalog
from ingest.config import load
from ingest.plan.assemble import plan_of
from ingest.plan.codec import packed
from ingest.spark.streaming import worker

FILE = """
version: 1
stores: {s: {memory: {}}}
pipelines:
  p:
    source: {files: {path: in}}
    decorators: [{value: {attribute: "2hb_", value: "old"}}]
    sinks: [{attr2hbase: {store: s, table: t, write_body: "f:q"}}]
"""


@pytest.fixture
def plans(tmp_path) -> tuple[bytes, bytes]:
    """A plan, and the one of a changed file."""
    found = []
    for name, text in (("old", FILE), ("new", FILE.replace("old", "new"))):
        path = tmp_path / name
        path.write_text(text)
        configuration = load(str(path), env={}, lookup=Catalog())
        found.append(packed(plan_of(configuration, configuration.pipelines["p"], Catalog())))
    return found[0], found[1]


def test_closed_task_does_not_run_again(plans, monkeypatch):
    """The file is changed to a plan that a worker cannot run, then back."""
    monkeypatch.setattr(worker, "_live", {})
    old, new = plans
    first = worker._task("p", old)
    assert worker._task("p", old) is first

    def fail(_plan):
        raise CatalogError("a package is missing")

    with monkeypatch.context() as patched:
        patched.setattr(worker, "live_task", fail)
        with pytest.raises(CatalogError):
            worker._task("p", new)
    assert worker._task("p", old) is not first
