"""A source of a plugin in the commands, beside the built-in ones."""

import json

import pytest

from tests.support.plugins import install
from tests.support.sources import TICKING, pipeline

PLUGIN = "plugins: [cli_ticking]"


@pytest.fixture
def file(folder):
    def write(source: str = "ticking: {per_second: 7}") -> str:
        (folder / "cli_ticking.py").write_text(TICKING)
        (folder / "p.yaml").write_text(pipeline(source, plugins=PLUGIN))
        return "p.yaml"

    return write


def test_validate_takes_it_and_says_whose_it_is(ingest, file):
    result = ingest("validate", file(), "--connect", "--output", "json")
    found = json.loads(result.out)
    assert found["plugins"] == [{"type": "sources", "name": "ticking", "provider": '"cli_ticking.py"'}]
    assert [each["found"] for each in found["connections"] if each["what"].startswith("source")] == ["7 a second"]


def test_validate_points_at_a_wrong_option(ingest, file):
    result = ingest("validate", file("ticking: {per_secnd: 7}"))
    assert result.code == 2
    assert 'did you mean "per_second"?' in result.out + result.err


def test_its_answers_are_used_by_checks(ingest, folder, file):
    file()
    text = (folder / "p.yaml").read_text().replace('attribute: "2hb_"', 'attribute: "other"')
    (folder / "p.yaml").write_text(text)
    stderr = ingest("validate", "p.yaml").err
    assert 'no decorator sets the attribute "2hb_"' in stderr
    assert "nothing is stored" in stderr  # it says that it has no headers


def test_explain_decodes_as_it_says(ingest, folder, file):
    (folder / "e.jsonl").write_text('{"body": "x", "key": "k"}\n')
    result = ingest("explain", file(), "--events", "e.jsonl")
    assert result.code == 0
    assert "f:body" in result.out


def test_graph_shows_what_it_reads(ingest, file):
    assert "ticking<br>7 a second" in ingest("graph", file()).out


def test_describe_shows_an_installed_one(ingest, folder, monkeypatch):
    monkeypatch.syspath_prepend(folder)
    (folder / "installed_ticking.py").write_text(TICKING)
    install(folder, "ticker", "ticking = installed_ticking:Ticking", group="ingest.sources")
    result = ingest("describe", "ticking")
    assert "Count up" in result.out
    assert "per_second" in result.out
    assert "Of ticker 1.0." in result.out
