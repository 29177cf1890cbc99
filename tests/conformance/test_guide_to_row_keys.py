"""The guide to row keys shows what the command prints."""

import re
from pathlib import Path

import pytest

from ingest.cli import main
from sinks.rowkeys.distribution import Distribution

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "guides" / "row-keys.md").read_text("utf-8")


def test_guide_shows_the_output_for_the_access_log(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    [shown] = re.findall(r"^```\n(logs/access_log .*?)^```\n", GUIDE, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(ROOT / "deploy" / "examples" / "access-log")
    assert main(["keys", "analyse", "pipeline.yaml", "--lines", "logs/access.log.1.gz"]) == 0
    out, err = capfd.readouterr()
    assert out.partition(" prefix ")[0] == shown
    assert "one receives 100% of the newest 10%" in err


@pytest.mark.parametrize(("buckets", "least", "most"), [(32, 20, 670), (16, 564, 690)])
def test_guide_shows_the_spread_of_decimal_row_keys(buckets: int, least: int, most: int) -> None:
    first = [Distribution(buckets).stored(b"sensor-%05d" % number)[0] for number in range(10_000)]
    counts = [first.count(bucket) for bucket in range(buckets)]
    assert (min(counts), max(counts)) == (least, most)
    assert f"{least}" in GUIDE
    assert f"{most}" in GUIDE
