"""Commands with a sink of a plugin that writes to no store."""

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


def test_validate_accepts_it_without_a_store_and_names_its_provider(ingest, file):
    result = ingest("validate", file(), "--output", "json")
    assert (result.code, result.json["problems"]) == (0, [])
    assert result.json["plugins"] == [{"type": "sinks", "name": "lines", "provider": '"lining.py"'}]


CHECK = """\
    def check(self, context):
        {}

    def writer(self, context):"""


@pytest.mark.parametrize(
    ("check", "found", "error"),
    [
        (None, "has nothing to check", None),
        ("return f'{context.sink} of {context.pipeline}'", "lines of p", None),
        ("raise MappingError('it is full', code='full')", "", ("full", "it is full")),
        (
            "raise ValueError('a bug')",
            "",
            ("sink_failed", '"lines" (p.yaml:8:9): check: ValueError: a bug (lining'),
        ),
        ("return None", "", ("sink_failed", '"lines" (p.yaml:8:9): check: TypeError: it returned None')),
    ],
)
def test_validate_connect_checks_it(ingest, folder, file, check, found, error):
    file()
    if check is not None:
        text = LINES.replace("    def writer(self, context):", CHECK.format(check))
        (folder / "lining.py").write_text(text)
    (folder / "a.log").touch()
    result = ingest("validate", "p.yaml", "--connect", "--output", "json")
    (answer,) = (each for each in result.json["connections"] if each["what"] == 'sink "lines" of pipeline "p"')
    assert (answer["where"], answer["found"]) == ("p.yaml:8:9", found)
    if error is None:
        assert (result.code, answer["error"]) == (0, None)
    else:
        assert (result.code, answer["error"]["code"]) == (1, error[0])
        assert answer["error"]["message"].startswith(error[1])


def test_it_has_no_option_store(ingest, file):
    text = PIPELINE.replace("pipelines:", "stores: {s: {memory: {}}, z: {memory: {}}}\npipelines:")
    assert ingest("validate", file(text)).code == 0
    result = ingest("validate", file(text.replace("./lines}", "./lines, store: s}")))
    assert result.code == 2
    assert '"store" is not an option of lines' in result.err


def test_explain_keeps_its_events_and_shows_no_puts(ingest, folder, file):
    (folder / "e.jsonl").write_text('{"body": "x"}\n')
    line = ingest("explain", file(), "--events", "e.jsonl", "--output", "json").json
    assert (line["outcome"], line["puts"], line["refusals"]) == ("kept", [], [])


def test_explain_drops_events_that_when_excludes(ingest, folder, file):
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


def test_event_that_a_mapper_makes_nothing_of_fails(ingest, folder, file):
    with_store = PIPELINE.replace("pipelines:", "stores: {s: {memory: {}}}\npipelines:")
    file(with_store.replace("lines: {path: ./lines}", "indexed"))
    (folder / "lining.py").write_text(INDEXED.replace("return [", "return [] if not event.body else ["))
    (folder / "e.jsonl").write_text('{"body": "", "key": "r1"}\n')
    line = ingest("explain", "p.yaml", "--events", "e.jsonl", "--output", "json").json
    (refusal,) = line["refusals"]
    assert (line["outcome"], line["puts"], refusal["code"]) == ("failed", [], "sink_bug")


def test_graph_has_no_table_for_it(ingest, file):
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


def publish(folder, *failures, code="bad_line"):
    """Publish dead letters of a batch, each the component and the number and body of its record."""
    queue = FileDeadLetters(folder / "state", "p")
    dead_letters = [
        DeadLetter(
            record=Record("a.log", 0, offset, None, value, 500),
            fan_out=0,
            attributes={},
            pipeline="p",
            component=component,
            code=code.format(component),
            message="this line is refused",
            batch_time_ms=1_000,
            fingerprint="f",
        )
        for component, offset, value in failures
    ]
    queue.publish([each.to_json() for each in dead_letters], 0, 1_000)


def replay(ingest, *options):
    """Replay; returns how many dead letters are replayed."""
    return ingest("dead-letters", "replay", "-f", "p.yaml", "--output", "json", *options).json["replayed"]


def stored(folder):
    """The lines that readers see."""
    return sorted(line for path in folder.glob("[0-9]*") for line in path.read_text().splitlines())


def corrected(*decorators):
    """The pipeline file with these decorators."""
    return PIPELINE.replace("    sinks:", f"    decorators: [{', '.join(decorators)}]\n    sinks:")


CORRECT_REFUSED = "{replace: {text: refused, replacement: good}}"
CORRECT_BUG = "{replace: {text: bug, replacement: fine}}"


def test_replay_writes_to_it(ingest, folder, file):
    file()
    publish(folder, ("lines", 0, b"corrected"), ("lines", 1, b"refused"))
    result = ingest("dead-letters", "replay", "-f", "p.yaml", "--output", "json")
    assert (result.json["replayed"], result.json["failed_again"]) == (1, {"bad_line": 1})
    assert stored(folder / "lines") == ["corrected"]
    assert not [*(folder / "lines").glob(".*/*")]


def test_replay_after_a_kill_stores_what_was_corrected_in_between(ingest, folder, file, monkeypatch):
    file(corrected(CORRECT_REFUSED))
    publish(folder, ("lines", 0, b"refused"), ("lines", 1, b"bug"))

    def kill(*_arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(FileDeadLetters, "mark", kill)
        assert ingest("dead-letters", "replay", "-f", "p.yaml").code == 130
    assert stored(folder / "lines") == ["good"]
    file(corrected(CORRECT_REFUSED, CORRECT_BUG))
    assert replay(ingest) == 2
    assert stored(folder / "lines") == ["fine", "good"]


def test_corrected_replay_of_a_fan_out_stores_its_failed_event(ingest, folder, file):
    split = "{explode: {form: lines}}"
    file(corrected(split))
    publish(folder, ("lines", 0, b"sibling\nbug"))
    assert replay(ingest) == 0
    assert stored(folder / "lines") == ["sibling"]
    file(corrected(split, CORRECT_BUG))
    assert replay(ingest) == 1
    assert stored(folder / "lines") == ["fine", "sibling"]


def test_replays_of_one_record_into_different_sinks_are_different_batches(ingest, folder, file):
    file(PIPELINE.replace("./lines}", "./lines, label: one}") + "      - lines: {path: ./others, label: two}\n")
    publish(folder, ("one", 0, b"x"), ("two", 0, b"x"), code="code_{}")
    assert replay(ingest, "--code", "code_one") == 1
    assert (stored(folder / "lines"), stored(folder / "others")) == (["x"], [])
    assert replay(ingest, "--code", "code_two") == 1
    assert (stored(folder / "lines"), stored(folder / "others")) == (["x"], ["x"])


def test_second_replay_at_the_same_time_is_refused(ingest, folder, file, monkeypatch):
    file()
    publish(folder, ("lines", 0, b"x"))
    others = []
    mark = FileDeadLetters.mark

    def replay_again(queue, marks):
        monkeypatch.setattr(FileDeadLetters, "mark", mark)
        others.append(ingest("dead-letters", "replay", "-f", "p.yaml", "--output", "json"))
        mark(queue, marks)

    monkeypatch.setattr(FileDeadLetters, "mark", replay_again)
    assert replay(ingest) == 1
    (other,) = others
    assert (other.code, other.out) == (4, "")
    assert '"code":"locked"' in other.err.replace(": ", ":")
    assert "wait until that replay, re-run or join has ended" in other.err
    assert ingest("dead-letters", "replay", "-f", "p.yaml", "--all").code == 0
