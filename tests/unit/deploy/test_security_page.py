"""SECURITY.md names a test for each threat."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
TEST_FILE = re.compile(r"`(tests/[^`]+)`")


def threats() -> list[str]:
    """The rows of the threat model."""
    section = PAGE.partition("## Threat model")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")]
    return rows[1:]  # without the names of the columns


def test_model_has_rows() -> None:
    assert len(threats()) > 10


@pytest.mark.parametrize("row", threats(), ids=lambda row: row.split("|")[1].strip())
def test_threat_names_existing_tests(row: str) -> None:
    named = TEST_FILE.findall(row.rpartition("|")[0].rpartition("|")[2])
    assert named
    assert [name for name in named if not (ROOT / name).is_file()] == []


def test_all_named_files_exist() -> None:
    assert [name for name in TEST_FILE.findall(PAGE) if not (ROOT / name).is_file()] == []
