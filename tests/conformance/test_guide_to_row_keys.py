"""The guide to row keys shows what the command prints."""

import os
import re
import shutil
from pathlib import Path

import pytest

from ingest.cli import main
from sinks.rowkeys.distribution import Distribution

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "guides" / "row-keys.md").read_text("utf-8")


def test_guide_shows_the_output_for_the_access_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    [shown] = re.findall(r"^```\n(logs/access_log .*?)^```\n", GUIDE, re.MULTILINE | re.DOTALL)
    example = ROOT / "deploy" / "examples" / "access-log"
    shutil.copy(example / "pipeline.yaml", tmp_path)
    (tmp_path / "logs").mkdir()
    for age_s, name in ((3_600, "access.log.1.gz"), (0, "access.log")):  # the order of their events
        log = tmp_path / "logs" / name
        shutil.copy(example / "logs" / name, log)
        os.utime(log, (1_800_000_000 - age_s,) * 2)
    monkeypatch.chdir(tmp_path)
    assert main(["keys", "analyse", "pipeline.yaml"]) == 0
    out, err = capfd.readouterr()
    assert out.partition(" prefix ")[0] == shown
    assert "one receives 56% of the newest 10%" in err


@pytest.mark.parametrize(("buckets", "least", "most"), [(32, 20, 670), (16, 564, 690)])
def test_guide_shows_the_spread_of_decimal_row_keys(buckets: int, least: int, most: int) -> None:
    first = [Distribution(buckets).stored(b"sensor-%05d" % number)[0] for number in range(10_000)]
    counts = [first.count(bucket) for bucket in range(buckets)]
    assert (min(counts), max(counts)) == (least, most)
    assert f"{least}" in GUIDE
    assert f"{most}" in GUIDE
