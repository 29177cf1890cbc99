"""The pipeline of the guide to bulk load is valid, and what the guide quotes is what the product says."""

import re
from pathlib import Path

from ingest.observe.activity import REASONS_OF_CALLS
from sinks.bulk_load.modes import KEPT_CYCLES
from tests.support.environments import ROOT
from tests.support.guides import run_tests

GUIDE = (ROOT / "docs" / "guides" / "bulk-load.md").read_text("utf-8")


def test_pipeline_passes_its_tests(tmp_path: Path) -> None:
    found = re.search(r"^```yaml\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    assert found
    servers = {"KAFKA": "localhost:9092", "HBASE_SERVERS": "localhost:16000", "PWD": str(tmp_path)}
    done = run_tests(found[1], tmp_path, **servers)
    assert (done.returncode, "warning" in done.stderr) == (0, False), done.stdout + done.stderr


def test_guide_has_the_words_of_the_product() -> None:
    assert "Failed to complete bulk load" in REASONS_OF_CALLS["refused"]
    assert "`Failed to complete bulk load`" in GUIDE
    assert "files for bulk load of 1 table can be staged and loads begun" in GUIDE
    assert "`rows went as calls in place of files`, once in ten minutes" in GUIDE
    assert (KEPT_CYCLES, "for ten micro-batches, because" in GUIDE) == (10, True)
