"""The example `counters` counts what its log contains."""

import json
import shutil
from pathlib import Path

import pytest

from tests.support.commands import ANY_PORT, Folder
from tests.support.counted_log import EXAMPLE, CountedLog


@pytest.mark.slow
def test_tables_have_the_counts_of_the_log(tmp_path: Path) -> None:
    for name in ("pipeline.yaml", "logs"):
        copy = shutil.copytree if (EXAMPLE / name).is_dir() else shutil.copy
        copy(EXAMPLE / name, tmp_path / name)
    ingest = Folder(tmp_path)
    ingest.add(ANY_PORT)

    counted = CountedLog.of_example()
    totals = json.loads(ingest("run", "--once", "pipeline.yaml", "--output", "json").stdout)["counters"]
    assert totals["stored"] == counted.lines["stored"]
    for table, expected in (
        ("pages", counted.pages),
        ("minutes", counted.minutes),
        ("referers", counted.referers),
    ):
        assert rows(ingest, table) == {
            row: {name: str(number) for name, number in columns.items()} for row, columns in expected.items()
        }
    found = rows(ingest, "hosts")
    assert {host: json.loads(columns["last:statuses"]) for host, columns in found.items()} == counted.statuses
    users = {user: (columns["last:page"], columns["last:host"]) for user, columns in rows(ingest, "users").items()}
    assert users == counted.users


def rows(ingest: Folder, table: str) -> dict[str, dict[str, str]]:
    """Row key -> column -> value of a table."""
    scanned = ingest("scan", table, "--output", "json").stdout
    return {
        row["row"]: {f"{family}:{qualifier}": value for family, qualifier, _, value in row["cells"]}
        for row in map(json.loads, scanned.splitlines())
    }
