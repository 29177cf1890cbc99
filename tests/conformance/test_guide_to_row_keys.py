"""The guide to row keys shows what the command prints."""

import re
from collections import Counter
from pathlib import Path

import pytest

from ingest.cli import main
from ingest.decorating.choices import OnMissing
from ingest.expressions import Template
from ingest.testing.events import event_of
from sinks.rowkeys.distribution import Distribution

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "guides" / "row-keys.md").read_text("utf-8")


def test_guide_shows_the_output_for_the_access_log(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    [shown] = re.findall(r"^```\n(logs/access_log .*?)^```\n", GUIDE, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(ROOT / "deploy" / "examples" / "access-log")
    assert main(["admin", "keys", "analyse", "--lines", "logs/access.log.1.gz"]) == 0
    out, err = capfd.readouterr()
    assert out.partition(" prefix ")[0] == shown
    assert "one receives 100% of the newest 10%" in err


def test_guide_shows_the_spread_of_decimal_row_keys() -> None:
    sizes = {}
    for buckets in (32, 16):
        counts = Counter(Distribution(buckets).physical(b"sensor-%05d" % number)[0] for number in range(10_000))
        sizes[buckets] = min(counts.values()), max(counts.values())
    (least, most), (least_of_16, most_of_16) = sizes.values()
    assert f"in 32 buckets, the smallest has {least} and the largest {most}." in GUIDE
    assert f"In 16 buckets these are {least_of_16} and {most_of_16}." in GUIDE


def test_template_of_the_guide_sorts_negative_numbers() -> None:
    [template] = re.findall(r"`(%\{decode\(pad_left\(hex\(add\(n, .*?)`", GUIDE)
    render = Template.parse(template).renderer(OnMissing.ERROR)
    numbers = [-(2**63), -2, -1, 0, 3, 2**63 - 1]
    keys = [render(event_of("", {"n": str(number)})) for number in numbers]
    assert keys == sorted(keys)
    assert [int.from_bytes(key, "big") - 2**63 for key in keys if key is not None] == numbers
