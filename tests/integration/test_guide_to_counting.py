"""The guide to counting: a mistake is taken back and replayed, with the commands that the guide shows."""

import os
import re
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.commands import ANY_PORT, INGEST
from tests.support.environments import ROOT
from tests.support.names import unique
from tests.support.service import environment

if TYPE_CHECKING:
    from tests.support.servers import Kafka

GUIDE = (ROOT / "docs" / "guides" / "counting.md").read_text("utf-8")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
_MIDNIGHT = re.compile(r"\d{4}-\d\d-\d\dT00:00:00Z")
_COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)


@pytest.mark.slow
def test_mistake_is_taken_back_and_replayed_as_shown(kafka: "Kafka", tmp_path: Path) -> None:
    topic = unique("hits")
    text = GUIDE.partition("```yaml\n# pipeline.yaml\n")[2].partition("```")[0]
    (tmp_path / "pipeline.yaml").write_text(text.replace("topics: [hits]", f"topics: [{topic}]") + ANY_PORT)
    variables = environment() | {"KAFKA": kafka.brokers, "PATH": f"{INGEST.parent}:{os.environ['PATH']}"}
    times: dict[str, str] = {}  # shown -> actual
    for command, shown in _COMMAND.findall("".join(_consoles())):
        run = _MIDNIGHT.sub(_day_around_today(), command)
        run = _TIME.sub(lambda found: times[found[0]], run)
        if run.startswith("FROM="):
            variables |= dict(each.split("=") for each in run.split())
            continue
        done = subprocess.run(
            ["bash", "-c", run], cwd=tmp_path, env=variables, stdout=-1, stderr=-2, text=True, check=False
        )
        log = tmp_path / "run.log"
        assert done.returncode == 0, done.stdout + (log.read_text() if log.exists() else "")
        actual = done.stdout.replace(topic, "hits")
        for told, found in zip(_TIME.findall(shown), _TIME.findall(actual), strict=False):
            times.setdefault(told, found)
        assert _TIME.sub(lambda found: times.get(found[0], "?"), shown) == actual, command


def _consoles() -> list[str]:
    section = GUIDE.partition("\n## A mistake, rollback, replay\n")[2]
    return re.findall(r"(?<=^```console\n).*?(?=^```$)", section, re.MULTILINE | re.DOTALL)


def _day_around_today():
    """Replaces the first midnight by yesterday's, the second by the day after tomorrow's."""
    days = iter((-1, 2))
    return lambda _: f"{datetime.now(UTC) + timedelta(days=next(days)):%Y-%m-%dT00:00:00Z}"
