"""The guide to Spark lists every option and type, and its examples are valid."""

import re
from pathlib import Path

import pytest

from ingest.formats.cell_types import CellType
from ingest.spark.datasource.columns import DeclaredColumns
from ingest.spark.datasource.options import OPTIONS
from ingest.spark.datasource.schemas import ALL_CELLS, NEWEST_CELLS, TYPES

GUIDE = (Path(__file__).resolve().parents[2] / "docs" / "guides" / "spark.md").read_text("utf-8")


@pytest.mark.parametrize("option", sorted(OPTIONS))
def test_every_option_is_described(option: str) -> None:
    assert f"`{option}`" in GUIDE


@pytest.mark.parametrize("cell_type", CellType)
def test_every_type_is_described(cell_type: CellType) -> None:
    (row,) = [line for line in GUIDE.splitlines() if line.startswith("|") and f"`{cell_type}`" in line]
    assert f"`{TYPES[cell_type].simpleString()}`" in row


def test_schemas_are_those_of_a_read() -> None:
    assert f"cells {NEWEST_CELLS.simpleString()}`" in GUIDE
    assert f"cells {ALL_CELLS.simpleString()}`" in GUIDE


def test_examples_declare_valid_columns() -> None:
    found = re.findall(r"""columns(?:", "|="| ')([^"']+)["']""", GUIDE)
    assert len(found) == 4
    for columns in found:
        DeclaredColumns.parse(columns)
