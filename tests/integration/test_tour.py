"""docs/tour.md: its commands run in their order, and print what it shows."""

import re
from pathlib import Path

import pytest

from tests.support.commands import ANY_PORT
from tests.support.consoles import Consoles
from tests.support.environments import ROOT

TOUR = (ROOT / "docs" / "tour.md").read_text("utf-8")
INIT, TEST, REST = TOUR.partition("```console\n$ ingest test pipeline.yaml\n")
SQL = re.compile(r"^## SQL\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)


def without_sql(text: str) -> str:
    """The page without the chapter that starts a second Spark beside that of the service."""
    shorter = SQL.sub("", text)
    assert shorter != text
    return shorter


@pytest.mark.parametrize(
    "rest", [pytest.param(without_sql(REST), id="short"), pytest.param(REST, marks=pytest.mark.slow, id="all")]
)
def test_commands_print_what_is_shown(tmp_path: Path, rest: str) -> None:
    with Consoles(tmp_path, {}) as consoles:
        assert consoles.repeated(INIT) == INIT
        with (consoles.folder() / "pipeline.yaml").open("a") as file:
            file.write(ANY_PORT)
        assert consoles.repeated(TEST + rest) == TEST + rest
