"""The guide to counting: a mistake is rolled back and replayed, with the commands that the guide shows."""

import os
import re
import subprocess
from collections.abc import Mapping
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
_SECTION = "\n## A mistake, rollback, replay\n"
_CONSOLE = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
_MIDNIGHT = re.compile(r"\d{4}-\d\d-\d\dT00:00:00Z")


@pytest.mark.slow
def test_mistake_is_rolled_back_and_replayed_as_shown(kafka: "Kafka", tmp_path: Path) -> None:
    topic = unique("hits")
    text = GUIDE.partition("```yaml\n# pipeline.yaml\n")[2].partition("```")[0]
    (tmp_path / "pipeline.yaml").write_text(text.replace("topics: [hits]", f"topics: [{topic}]") + ANY_PORT)
    story = Story(tmp_path, {"KAFKA": kafka.brokers})
    section = GUIDE.partition(_SECTION)[2]
    assert story.told_again(section).replace(topic, "hits") == section


class Story:
    """
    Runs the commands of consoles in a folder.

    The times of the output differ from those that are shown: both are paired in the order of the output.
    """

    def __init__(self, folder: Path, variables: Mapping[str, str]) -> None:
        self._folder = folder
        self._variables = environment() | variables | {"PATH": f"{INGEST.parent}:{os.environ['PATH']}"}
        self._actual: dict[str, str] = {}  # time that is shown -> time of this run
        self._shown: dict[str, str] = {}

    def told_again(self, text: str) -> str:
        """The text with the output of this run, with the times that are shown."""
        return _CONSOLE.sub(lambda found: _COMMAND.sub(lambda each: self._run(each[1], each[2]), found[0]), text)

    def _run(self, command: str, shown: str) -> str:
        days = iter((-1, 2))
        run = _MIDNIGHT.sub(lambda _: f"{datetime.now(UTC) + timedelta(days=next(days)):%Y-%m-%dT00:00:00Z}", command)
        run = _TIME.sub(lambda found: self._actual.get(found[0], found[0]), run)
        if run.startswith("FROM="):
            self._variables |= dict(each.split("=") for each in run.split())
            return f"$ {command}\n"
        done = subprocess.run(
            ["bash", "-c", run],
            cwd=self._folder,
            env=self._variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        log = self._folder / "run.log"
        assert done.returncode == 0, done.stdout + (log.read_text() if log.exists() else "")
        for before, now in zip(_TIME.findall(shown), _TIME.findall(done.stdout), strict=False):
            if self._actual.setdefault(before, now) == now:
                self._shown[now] = before
        output = _TIME.sub(lambda found: self._shown.get(found[0], found[0]), done.stdout)
        return f"$ {command}\n" + re.sub(r"\(\d+\.\d s\)", "(… s)", output)
