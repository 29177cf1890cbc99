"""A sink of a plugin, which writes to no store, in the commands."""

import pytest

from ingest.api import Record
from ingest.dead_letters.envelope import DeadLetter
from ingest.dead_letters.files import FileDeadLetters
from tests.support.plugins import install
from tests.support.sinks import INDEXED, LINES, PIPELINE


@pytest.fixture
def file(folder):
    def write(text: str = PIPELINE) -> str:
        (folder / "lining.py").write_text(LINES)
        (folder / "p.yaml").write_text(text)
        return "p.yaml"

    return write


def test_validate_takes_it_without_a_store_and_says_whose_it_is(ingest, file):
    result = ingest("validate", file(), "--output", "json")
    assert (result.code, result.json["problems"]) == (0, [])
    assert result.json["plugins"] == [{"type": "sinks", "name": "lines", "provider": '"lining.py"'}]


def test_it_has_no_option_store_beside_sinks_that_have_one(ingest, file):
    text = PIPELINE.replace("pipelines:", "stores: {s: {memory: {}}, z: {memory: {}}}\npipelines:")
    assert ingest("validate", file(text)).code == 0
    result = ingest("validate", file(text.replace("./lines}", "./lines, store: s}")))
    assert result.code == 2
    assert '"store" is not an option of lines' in result.err


def test_explain_keeps_its_events_and_shows_no_puts(ingest, folder, file):
    (folder / "e.jsonl").write_text('{"body": "x"}\n')
    line = ingest("explain", file(), "--events", "e.jsonl", "--output", "json").json
    assert (line["outcome"], line["puts"], line["refusals"]) == ("kept", [], [])


def test_explain_drops_events_it_does_not_want(ingest, folder, file):
    (folder / "e.jsonl").write_text('{"body": "x"}\n')
    text = PIPELINE.replace("./lines}", "./lines, when: \"%{body} == 'y'\"}")
    line = ingest("explain", file(text), "--events", "e.jsonl", "--output", "json").json
    assert (line["outcome"], line["reason"]) == ("dropped", "no_sink")


def test_explain_shows_every_mutation_of_a_mapper(ingest, folder, file):
    with_store = PIPELINE.replace("pipelines:", "stores: {s: {memory: {}}}\npipelines:")
    file(with_store.replace("lines: {path: ./lines}", "indexed"))
    (folder / "lining.py").write_text(INDEXED)
    (folder / "e.jsonl").write_text('{"body": "red", "key": "r1"}\n')
    line = ingest("explain", "p.yaml", "--events", "e.jsonl", "--output", "json").json
    assert [(put["table"], put["row"], put["cells"]) for put in line["puts"]] == [
        ("data", "r1", [["f", "body", "red"]]),
        ("index", "red", [["f", "row", "r1"]]),
    ]


def test_graph_ends_with_it(ingest, file):
    drawn = ingest("graph", file()).out
    assert 'p1_sink1[/"lines"/]' in drawn
    assert "table1" not in drawn


def test_describe_shows_an_installed_one(ingest, folder, monkeypatch):
    monkeypatch.syspath_prepend(folder)
    (folder / "installed_lining.py").write_text(LINES)
    install(folder, "liner", "lines = installed_lining:Lines", group="ingest.sinks")
    shown = ingest("describe", "lines").out
    assert "a file for each micro-batch" in shown
    assert "Folder of the files" in shown


def test_replay_writes_what_it_refused(ingest, folder, file):
    letters = FileDeadLetters(folder / "state", "p")
    values = (b"mended", b"refused")
    letters.publish(
        [
            DeadLetter(
                record=Record("a.log", 0, offset, None, value, 500),
                fan_out=0,
                attributes={},
                pipeline="p",
                component="lines",
                code="bad_line",
                message="this line is refused",
                batch_time_ms=1_000,
                fingerprint="f",
            ).to_json()
            for offset, value in enumerate(values)
        ],
        0,
        1_000,
    )
    result = ingest("dead-letters", "replay", file(), "--output", "json")
    assert (result.json["replayed"], result.json["failed_again"]) == (1, {"bad_line": 1})
    assert [path.read_text() for path in (folder / "lines").glob("[0-9]*")] == ["mended\n"]
    assert not [*(folder / "lines").glob(".*/*")]
