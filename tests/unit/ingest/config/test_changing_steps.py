"""Steps of plugins that do not give the same for the same event: told, and kept out of row keys."""

import pytest

from ingest.api import ConfigError
from ingest.catalog import Catalog
from ingest.config import load

PLUGIN = """\
import random
from ingest.api import Decorator, Example, Settings, option

class DrawSettings(Settings):
    attribute: str = option("Where it goes.", default="lot")

class PlaceSettings(DrawSettings):
    def surely_sets(self):
        return self.set_references()

class Place(Decorator[PlaceSettings]):
    "Say where it comes from."

    kind = "place"
    examples = (Example("anywhere", after={"lot": "topic"}),)
    def decorate(self, event):
        event.set(self.settings.attribute, event.origin.topic.encode())
        return True

class Draw(Decorator[DrawSettings]):
    "Draw a number."

    kind = "draw"
    examples = (Example("one of nine"),)
    deterministic = False
    def decorate(self, event):
        event.set(self.settings.attribute, b"%d" % random.randrange(9))
        return True
"""
FILE = """\
version: 1
plugins: [changing_steps]
stores: {m: {memory: {}}}
pipelines:
  p:
    source: {kafka: {brokers: "localhost:9092", topics: [t]}}
    decorators:
      - STEP
      - value: {attribute: copy, value: "a%{lot}"}
      - value: {attribute: "2hb_f:x", value: "%{copy}"}
      - value: {attribute: "2hb_", value: "ROW", on_missing: MISSING}
    sinks: [{attr2hbase: {table: t}}]
"""


@pytest.fixture
def problems(tmp_path, monkeypatch):
    (tmp_path / "changing_steps.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "p.yaml"

    def found(row: str, step: str = "draw", missing: str = "empty") -> list[str]:
        path.write_text(FILE.replace("ROW", row).replace("STEP", step).replace("MISSING", missing))
        try:
            report = load(path, env={}, lookup=Catalog()).report
        except ConfigError as error:
            report = error.report
        lines = [line for line in report.to_text().splitlines() if line.startswith(str(path))]
        return [line.removeprefix(f"{path}:") for line in lines]

    return found


WARNING = (
    "8:9: conflict: warning: draw may give something else each time: an event that runs again is stored differently"
)


def test_step_is_told(problems):
    assert problems("%{key}-%{offset}") == [WARNING]


@pytest.mark.parametrize("name", ["lot", "copy"])
def test_row_key_of_it_is_refused(problems, name):
    [warning, refused] = problems(f"%{{key}}-%{{{name}}}")
    assert warning == WARNING
    assert refused == (
        f"11:43: conflict: this row key takes %{{'{name}'}} of a step that may give something else each time: a replay "
        "adds a row; the step is the draw on line 8; use what identifies the event: %{topic}-%{partition}-%{offset}"
    )


def test_row_key_set_by_it_is_refused(problems):
    found = problems("%{key}%{id}", step='draw: {attribute: "2hb_"}', missing="unset")
    assert any(line.startswith("8:9: conflict: this row key takes") for line in found)


def test_row_key_set_by_it_and_surely_set_again_is_not(problems):
    assert problems("%{key}%{id}", step='draw: {attribute: "2hb_"}') == [WARNING]


@pytest.mark.parametrize(("step", "is_refused"), [("place", False), ("place: {when: exists(id)}", True)])
def test_what_a_plugin_surely_sets_again_is_free(problems, step, is_refused):
    [_, *refused] = problems("%{offset}%{lot}", f"draw\n      - {step}")
    assert bool(refused) is is_refused


def test_other_steps_are_not_told(problems):
    assert problems("%{key}-%{lot}", step="value: {attribute: lot, value: '%{offset}'}") == []


def test_row_key_of_parts_with_it_is_refused(problems):
    step = "draw\n      - row_key: {attribute: copied, parts: [{value: '%{lot}'}]}"
    assert any("this row key takes %{'copied'}" in line for line in problems("%{key}-%{copied}", step))
