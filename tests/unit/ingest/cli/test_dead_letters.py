import io
import sys
from dataclasses import replace

import pytest

from ingest.api import Record
from ingest.dead_letters.envelope import DeadLetter, PlaceRange
from ingest.dead_letters.files import FileDeadLetters
from ingest.dead_letters.queue import Mark, ReplayOutcome
from ingest.dead_letters.replay_batches import SkipReason
from ingest.service.replay.dead_letter_replay import DeadLetterReplay


def dead_letter(offset, value, code, batch_time_ms, component="regex"):
    return DeadLetter(
        record=Record("ticks/monday.txt", 0, offset, b"k", value, 500, (("host", b"h1"),)),
        fan_out=0,
        attributes={"a": b"\xff"},
        pipeline="ticks",
        component=component,
        code=code,
        message="was not found",
        batch_time_ms=batch_time_ms,
        fingerprint="f",
    )


@pytest.fixture
def positions(pipeline):
    """Three dead letters: two that now pass, the second of a later batch, and one that fails again."""
    queue = FileDeadLetters(pipeline / "data" / "state", "ticks")
    queue.publish(
        [dead_letter(0, b"1:2", "no_match", 1000).to_json(), dead_letter(4, b"bad", "no_match", 1000).to_json()],
        0,
        1000,
    )
    queue.publish([dead_letter(8, b"3:4", "other", 86_400_000, "2").to_json()], 1, 86_400_000)
    return [entry.position for entry in queue.entries()]


FILE = "pipeline.yaml"
NONE = "none of 3 dead letters (no_match 2, other 1)"


def offsets(result):
    assert result.code == 0, result.err
    return [line["record"]["offset"] for line in result.lines]


class TestList:
    def test_dead_letters_are_listed_in_a_table(self, ingest, positions):
        result = ingest("dead-letters", "list", "-f", FILE)
        assert result.code == 0
        assert [line.split()[0] for line in result.out.splitlines()[2:]] == positions
        assert result.err.splitlines()[0] == "3 dead letters"

    @pytest.mark.parametrize(
        ("options", "expected"),
        [
            ([], [0, 4, 8]),
            (["--code", "other"], [8]),
            (["--code", "other", "--code", "no_match"], [0, 4, 8]),
            (["--component", "regex"], [0, 4]),
            (["--component", "regex", "--component", "2"], [0, 4, 8]),
            (["--since", "1970-01-02"], [8]),
            (["--until", "1970-01-02"], [0, 4]),
            (["--limit", "1"], [0]),
            (["--all"], [0, 4, 8]),
            (["--pipeline", "ticks"], [0, 4, 8]),
        ],
        ids=str,
    )
    def test_options_select_the_listed_dead_letters(self, ingest, positions, options, expected):
        assert offsets(ingest("dead-letters", "list", "-f", FILE, "--output", "json", *options)) == expected

    @pytest.mark.parametrize(
        ("limit", "summary"), [(2, "2 dead letters shown; more exist"), (3, "3 dead letters"), (4, "3 dead letters")]
    )
    def test_summary_says_whether_more_exist(self, ingest, positions, limit, summary):
        assert ingest("dead-letters", "list", "-f", FILE, "--limit", limit).err.splitlines()[0] == summary

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (
                ["--code", "x"],
                f"{NONE} is selected by --code x; --all also lists those that were replayed",
            ),
            (
                ["--component", "regex", "--code", "other", "--all"],
                f"{NONE} is selected by --code other --component regex",
            ),
            (
                ["--all", "--since", "2100-01-01"],
                f"{NONE} is selected by --since 2100-01-01",
            ),
        ],
        ids=["code", "component", "time"],
    )
    @pytest.mark.parametrize("form", ["text", "json"])
    def test_empty_selection_reports_what_exists(self, ingest, positions, form, options, message):
        result = ingest("dead-letters", "list", "-f", FILE, "--output", form, *options)
        assert (result.code, result.out, result.err) == (0, "", f"{message}\n")

    @pytest.mark.parametrize(
        ("options", "notes"),
        [
            (
                ["--code", "other", "--code", "no_mtch"],
                ['no dead letter has the code "no_mtch": did you mean "no_match"?'],
            ),
            (["--component", "regex", "--component", "x"], ['no dead letter has the component "x": there is 2, regex']),
            (["--component", "regex", "--component", "x", "--limit", "1"], []),
        ],
    )
    def test_values_that_no_dead_letter_has_are_noted(self, ingest, positions, options, notes):
        result = ingest("dead-letters", "list", "--output", "json", *options)
        assert (result.code, result.err.splitlines()) == (0, notes)
        assert result.lines != []

    def test_replay_is_suggested_only_if_it_would_replay_one(self, ingest, positions):
        assert "attr2hbase dead-letters replay\n" in ingest("dead-letters", "list", "--all").err
        assert ingest("dead-letters", "keep", *positions).code == 0
        result = ingest("dead-letters", "list", "--all")
        assert (result.err.splitlines()[0], "replay" in result.err) == ("3 dead letters", False)

    def test_missing_state_folder_is_noted(self, ingest, pipeline):
        result = ingest("dead-letters", "list", "-f", FILE)
        folder = pipeline / "data" / "state"
        note = f'no state at "{folder}"; relative paths start at the current folder'
        assert (result.code, result.out, result.err) == (0, "", f"{note}\nno dead letters\n")

    def test_absence_of_dead_letters_is_reported(self, ingest, pipeline):
        (pipeline / "data" / "state").mkdir(parents=True)
        result = ingest("dead-letters", "list", "-f", FILE)
        assert (result.code, result.out, result.err) == (0, "", "no dead letters\n")


class TestShow:
    def test_dead_letter_is_shown_as_text(self, ingest, positions):
        result = ingest("dead-letters", "show", "-f", FILE, positions[1], "--pipeline", "ticks")
        assert result.code == 0
        shown = dict(line.split("  ", 1) for line in result.out.splitlines())
        assert {name: value.strip() for name, value in shown.items()} == {
            "id": "ticks/monday.txt/0/4/0/regex",
            "pipeline": "ticks",
            "component": "regex",
            "error": "no_match: was not found",
            "batch": "1970-01-01T00:00:01.000Z",
            "record": "ticks/monday.txt, partition 0, offset 4",
            "time": "1970-01-01T00:00:00.500Z",
            "key": "k",
            "header host": "h1",
            "value": "bad",
            "attribute a": "\\xFF",
        }

    def test_json_is_what_explain_reads(self, ingest, positions, pipeline):
        shown = ingest("dead-letters", "show", "-f", FILE, positions[0], "--output", "json")
        (pipeline / "one.jsonl").write_text(shown.out)
        line = ingest("explain", FILE, "--events", "one.jsonl", "--output", "json").json
        assert (line["outcome"], line["event"]["host"], line["event"]["timestamp_ms"]) == ("kept", "h1", 500)

    def test_json_of_the_list_is_what_explain_reads(self, ingest, positions, pipeline):
        (pipeline / "all.jsonl").write_text(ingest("dead-letters", "list", "-f", FILE, "--output", "json").out)
        lines = ingest("explain", FILE, "--events", "all.jsonl", "--output", "json").lines
        assert [line["outcome"] for line in lines] == ["kept", "failed", "kept"]

    def test_explain_refuses_a_dead_letter_whose_bytes_are_on_another_machine(self, ingest, pipeline):
        cut = dead_letter(0, b"1:2", "no_match", 1000).pointing_to("host:/path")
        (pipeline / "cut.jsonl").write_bytes(cut.to_json())
        result = ingest("explain", FILE, "--events", "cut.jsonl")
        assert (result.code, "the complete one is at host:/path" in result.err) == (2, True)

    def test_unknown_position_exits_with_3(self, ingest, positions):
        assert ingest("dead-letters", "show", "-f", FILE, "9").code == 3


class TestSeveralEvents:
    """A dead letter for several events of a record."""

    @pytest.fixture
    def position(self, pipeline):
        queue = FileDeadLetters(pipeline / "data" / "state", "ticks")
        queue.publish([replace(dead_letter(4, b"bad", "no_match", 1000), events=1_100).to_json()], 0, 1000)
        return next(queue.entries()).position

    def test_list_shows_the_number_of_events(self, ingest, position):
        assert "ticks/monday.txt/0/4 (1,100 events)" in ingest("dead-letters", "list", "-f", FILE).out
        assert ingest("dead-letters", "list", "-f", FILE, "--output", "json").json["events"] == 1_100

    def test_show_shows_the_number_of_events(self, ingest, position):
        shown = ingest("dead-letters", "show", "-f", FILE, position).out
        assert "1,100 failed alike; this is the first" in shown


class TestUnread:
    """A dead letter by place, of records that could not be read."""

    @pytest.fixture(params=[None, 90_000])
    def end(self, request):
        return request.param

    @pytest.fixture
    def position(self, pipeline, end):
        letter = dead_letter(4_000, None, "damaged_file", 1000)
        record = letter.record._replace(key=None, headers=())
        queue = FileDeadLetters(pipeline / "data" / "state", "ticks")
        queue.publish([replace(letter, record=record, attributes={}, by_place=PlaceRange(end)).to_json()], 0, 1000)
        return next(queue.entries()).position

    def test_list_shows_how_far_they_go(self, ingest, position, end):
        up_to = "to the end" if end is None else "up to offset 90,000"
        assert f"ticks/monday.txt/0/4000 {up_to}" in ingest("dead-letters", "list", "-f", FILE).out
        assert ingest("dead-letters", "list", "-f", FILE, "--output", "json").json["unread"] == {"end": end}

    def test_show_shows_how_far_they_go_and_no_value(self, ingest, position, end):
        result = ingest("dead-letters", "show", "-f", FILE, position)
        up_to = "to the end" if end is None else "up to offset 90,000"
        assert f"from offset 4,000 {up_to}" in result.out
        assert "value" not in result.out
        assert "explain" not in result.err

    def test_explain_refuses_it(self, ingest, position, pipeline):
        (pipeline / "one.jsonl").write_text(
            ingest("dead-letters", "show", "-f", FILE, position, "--output", "json").out
        )
        result = ingest("explain", FILE, "--events", "one.jsonl")
        assert result.code == 2
        assert "it has none of their bytes" in result.err


class TestReplay:
    def test_selection_without_a_match_says_how_many_there_are(self, ingest, positions):
        options = (positions[0], "--code", "unknown", "--until", "2100-01-01T00:00:00.000Z")
        assert ingest("dead-letters", "replay", "-f", FILE, *options, "--output", "json").json["selected"] == 0
        result = ingest("dead-letters", "replay", "-f", FILE, *options)
        note = f"{NONE} is selected by {' '.join(options)}; --all includes those that were replayed or are kept\n"
        assert (result.code, note in result.err) == (0, True)

    def test_all_dead_letters_are_replayed_by_default(self, ingest, positions):
        result = ingest("dead-letters", "replay", "-f", FILE, "--output", "json")
        assert (result.code, result.json) == (
            1,
            {
                "pipeline": "ticks",
                "dry_run": False,
                "selected": 3,
                "replayed": 2,
                "failed_again": {"no_match": 1},
                "dropped": {},
                "skipped": {},
                "cut": [],
                "renamed": {},
                "published": {},
            },
        )
        rows = ingest("scan", "-f", FILE, "mytable", "--output", "json").lines
        assert [(row["row"], row["cells"][0][2]) for row in rows] == [
            ("monday.txt:000000", 999),
            ("monday.txt:000008", 86_399_999),
        ]
        assert offsets(ingest("dead-letters", "list", "-f", FILE, "--output", "json")) == [4]

    def test_skipped_dead_letters_are_shown_with_the_reason(self, ingest, positions, monkeypatch):
        reasons = iter([SkipReason.RAN_AGAIN, SkipReason.ROLLED_BACK, SkipReason.RAN_AGAIN])
        monkeypatch.setattr(DeadLetterReplay, "skip_reason", lambda _self, _entry: next(reasons))
        result = ingest("dead-letters", "replay", "-f", FILE)
        assert result.code == 0
        assert "skipped: 2 dead letters, because their records ran again in later micro-batches" in result.err
        assert "skipped: 1 dead letter, because their micro-batches were rolled back" in result.err
        assert "replayed (ran_again)" in ingest("dead-letters", "list", "-f", FILE, "--all").out
        assert len(ingest("dead-letters", "list", "-f", FILE, "--output", "json").lines) == 1

    @pytest.mark.parametrize(
        ("options", "selected"),
        [
            (["--code", "other"], 1),
            (["--component", "2"], 1),
            (["--since", "1970-01-02", "--pipeline", "ticks"], 1),
            (["--until", "1970-01-01T00:00:01Z"], 0),
            (["--all", "--code", "other"], 1),
        ],
        ids=str,
    )
    def test_options_select_the_replayed_dead_letters(self, ingest, positions, options, selected):
        result = ingest("dead-letters", "replay", "-f", FILE, "--output", "json", *options)
        assert (result.code, result.json["replayed"]) == (0, selected)

    def test_help_states_the_timestamp_of_the_cells(self, ingest, positions):
        shown = " ".join(ingest("dead-letters", "replay", "--help").out.replace("│", " ").split())
        assert "one millisecond before the micro-batch in which they failed" in shown
        ingest("dead-letters", "replay", "-f", FILE, positions[0])
        assert ingest("scan", "-f", FILE, "mytable", "--output", "json").json["cells"][0][2] == 999

    def test_dead_letter_is_replayed_by_position(self, ingest, positions):
        result = ingest("dead-letters", "replay", "-f", FILE, positions[0])
        assert result.code == 0
        assert ingest("scan", "-f", FILE, "mytable", "--output", "json").json["row"] == "monday.txt:000000"

    def test_process_of_its_own_asks_no_service(self, ingest, positions):
        result = ingest("dead-letters", "replay", "-f", FILE, "--own-process")
        assert (result.code, "service" in result.err) == (1, False), result.err

    def test_unknown_position_is_an_error_and_nothing_is_replayed(self, ingest, positions):
        result = ingest("dead-letters", "replay", "-f", FILE, positions[0], "9")
        assert (result.code, result.out) == (3, "")
        assert 'error[not_found]: no dead letter "9" in ' in result.err
        assert ingest("dead-letters", "replay", "-f", FILE, positions[0], "--output", "json").json["replayed"] == 1

    def test_dead_letter_is_replayed_by_id(self, ingest, positions):
        result = ingest("dead-letters", "replay", "-f", FILE, "ticks/monday.txt/0/0/0/regex", "--output", "json")
        assert (result.code, result.json["replayed"]) == (0, 1)

    def test_all_includes_replayed_dead_letters(self, ingest, positions):
        ingest("dead-letters", "replay", "-f", FILE, positions[0])
        assert ingest("dead-letters", "replay", "-f", FILE, positions[0], "--output", "json").json["selected"] == 0
        assert (
            ingest("dead-letters", "replay", "-f", FILE, positions[0], "--all", "--output", "json").json["replayed"]
            == 1
        )

    def test_progress_is_shown_on_a_terminal(self, pipeline, positions, terminal):
        with (pipeline / FILE).open("a") as file:
            file.write('service: {http: {listen: "127.0.0.1:0"}}\n')  # not that of another test
        shown = terminal("dead-letters", "replay", "-f", FILE, positions[0])
        assert "dead letters \x1b" in shown
        assert "next: " in shown

    def test_repeated_failure_is_reported(self, ingest, positions):
        result = ingest("dead-letters", "replay", "-f", FILE, positions[1])
        assert (result.code, "failed again: no_match 1" in result.err) == (1, True)
        assert ingest("dead-letters", "keep", "-f", FILE, positions[0], positions[2]).code == 0
        listed = ingest("dead-letters", "list", "-f", FILE)
        assert "failed again (no_match)" in listed.out
        assert ("dead-letters show" in listed.err, "dead-letters replay" in listed.err) == (True, False)


class TestKeep:
    def test_dead_letter_that_is_kept_is_not_retried(self, ingest, positions):
        assert ingest("dead-letters", "keep", "-f", FILE, positions[1], "--output", "json").json == {
            "selected": 1,
            "kept": 1,
        }
        assert [line["replay"] and line["replay"]["outcome"] for line in _listed(ingest)] == [None, "kept", None]
        result = ingest("dead-letters", "replay", "-f", FILE, "--output", "json")
        assert (result.code, result.json["selected"], result.json["failed_again"]) == (0, 2, {})
        none = ingest("dead-letters", "replay", "-f", FILE)
        assert "--all includes those that were replayed or are kept" in none.err

    @pytest.mark.parametrize("by_position", [True, False])
    def test_replay_that_names_it_runs_it(self, ingest, positions, by_position):
        assert ingest("dead-letters", "keep", "-f", FILE, "--component", "regex").code == 0
        result = ingest(
            "dead-letters", "replay", "-f", FILE, positions[0] if by_position else "--all", "--output", "json"
        )
        assert result.json["replayed"] == (1 if by_position else 2)

    def test_nothing_is_kept_without_a_selection(self, ingest, positions):
        result = ingest("dead-letters", "keep", "-f", FILE)
        assert (result.code, "give positions" in result.err) == (2, True)
        assert "is selected by --code x" in ingest("dead-letters", "keep", "-f", FILE, "--code", "x").err

    def test_kept_one_is_deleted_by_its_time_only(self, ingest, positions):
        ingest("dead-letters", "keep", "-f", FILE, positions[0])
        assert (
            ingest("admin", "dead-letters", "purge", "-f", FILE, "--replayed", "--yes", "--output", "json").json[
                "deleted"
            ]
            == 0
        )
        purged = ingest(
            "admin", "dead-letters", "purge", "-f", FILE, "--before", "1970-01-02", "--yes", "--output", "json"
        )
        assert purged.json["deleted"] == 2


def _listed(ingest):
    return ingest("dead-letters", "list", "-f", FILE, "--output", "json").lines


class TestDryRun:
    def test_outcomes_are_counted_and_nothing_is_written(self, ingest, positions, pipeline):
        result = ingest("dead-letters", "replay", "-f", FILE, "--dry-run", "--output", "json")
        about = {"pipeline": "ticks", "dry_run": True}
        numbers = {"selected": 3, "stored": 2, "dropped": {}, "failed_again": {"no_match": 1}}
        assert (result.code, result.json) == (0, about | numbers | {"skipped": {}, "unknown": 0})
        assert {line["replay"] for line in _listed(ingest)} == {None}
        assert not (pipeline / "data" / "store").exists()
        text = ingest("dead-letters", "replay", "-f", FILE, "--dry-run")
        assert text.err.startswith("would fail again: no_match 1")

    def test_empty_selection_is_said(self, ingest, positions):
        result = ingest("dead-letters", "replay", "-f", FILE, "--dry-run", "--code", "x")
        assert "is selected by --code x" in result.err

    def test_dead_letter_without_bytes_is_not_known(self, ingest, pipeline):
        queue = FileDeadLetters(pipeline / "data" / "state", "ticks")
        letter = replace(dead_letter(0, None, "damaged_file", 1000), by_place=PlaceRange(None))
        queue.publish([letter.to_json()], 0, 1000)
        assert ingest("dead-letters", "replay", "-f", FILE, "--dry-run", "--output", "json").json["unknown"] == 1


class TestReplayOfSinks:
    """Two sinks that write the body; the second rejects values over four bytes."""

    TWO = """
version: 1
stores: {logs: {rocksdb: {path: ./data}}}
tables:
  first: {store: logs, families: {f: {versions: 2}}}
  second: {store: logs, families: {f: {versions: 2}}}
pipelines:
  p:
    source: {files: {path: ./in}}
    decorators:
      - filter: {drop: "%{body} == ''"}
      - value: {attribute: "2hb_", value: "%{key}"}
      - value: {attribute: "2hb_f:q", value: "%{body}"}
    sinks:
      - attr2hbase: {label: one, table: first}
      - attr2hbase: {label: two, table: second, columns: {max_value_bytes: 4B}}
"""

    @pytest.fixture
    def refused(self, folder):
        """A function that publishes dead letters of components, one per record."""
        (folder / FILE).write_text(self.TWO)
        queue = FileDeadLetters(folder / "data" / "state", "p")

        def publish(*failures):
            lines = []
            for offset, (component, value) in enumerate(failures):
                changed = {"pipeline": "p", "component": component}
                lines.append(replace(dead_letter(offset, value, "too_large", 1000), **changed).to_json())
            queue.publish(lines, 0, 1000)

        return publish

    def replayed(self, ingest, code):
        result = ingest("dead-letters", "replay", "-f", FILE, "--output", "json")
        assert result.code == code, result.err
        return result.json

    def cells(self, ingest, table):
        rows = ingest("scan", "-f", FILE, table, "--versions", "2", "--output", "json").lines
        return [cell[2:] for row in rows for cell in row["cells"]]

    def test_dead_letter_of_a_sink_is_replayed_into_that_sink_only(self, ingest, refused):
        refused(("two", b"v"))
        assert self.replayed(ingest, 0)["replayed"] == 1
        assert (self.cells(ingest, "first"), self.cells(ingest, "second")) == ([], [[999, "v"]])

    def test_rejection_by_another_sink_is_not_a_failure_of_the_replay(self, ingest, refused):
        refused(("one", b"too long"))
        assert self.replayed(ingest, 0)["failed_again"] == {}
        assert self.cells(ingest, "first") == [[999, "too long"]]

    def test_dead_letter_of_a_decorator_is_replayed_into_all_sinks(self, ingest, refused):
        refused(("value#2", b"v"))
        assert self.replayed(ingest, 0)["renamed"] == {}
        assert (self.cells(ingest, "first"), self.cells(ingest, "second")) == ([[999, "v"]], [[999, "v"]])

    def test_removed_component_is_replayed_into_all_sinks_and_reported(self, ingest, refused):
        refused(("two", b"v"), ("old", b"w"))
        result = ingest("dead-letters", "replay", "-f", FILE)
        assert result.code == 0
        assert "replayed into all sinks, because the file has neither a sink nor a decorator of the name: old 1" in (
            result.err
        )
        assert (self.cells(ingest, "first"), self.cells(ingest, "second")) == ([[999, "w"]], [[999, "w"]])


class TestNextCommands:
    @pytest.fixture
    def position(self, pipeline):
        """A dead letter of one of two pipelines."""
        source = "source: {files: {path: ./in}}, sinks: [{attr2hbase: {table: t}}]"
        (pipeline / FILE).write_text(
            "version: 1\nstores: {s: {rocksdb: {path: ./store}}}\ntables: {t: {families: {f: {}}}}\n"
            "pipelines:\n"
            f"  ticks: {{{source}, decorators: [value: {{attribute: 2hb_, value: k}}]}}\n"
            f"  other: {{{source}, decorators: [value: {{attribute: 2hb_, value: k}}]}}\n"
        )
        queue = FileDeadLetters(pipeline / "data" / "state", "ticks")
        queue.publish([dead_letter(0, b"1:2", "no_match", 1000).to_json()], 0, 1000)
        return next(queue.entries()).position

    def next_commands(self, result):
        assert result.code == 0, result.err
        return [line[6:] for line in result.err.splitlines() if line.startswith(("next: ", "      attr2hbase"))]

    def test_list_names_the_pipeline_if_the_file_has_several(self, ingest, position):
        assert self.next_commands(ingest("dead-letters", "list", "-f", FILE, "--pipeline", "ticks")) == [
            f"attr2hbase dead-letters show --pipeline ticks {position}",
            "attr2hbase dead-letters replay --pipeline ticks",
        ]

    def test_show_names_the_pipeline_if_the_file_has_several(self, ingest, position):
        target = "--pipeline ticks"
        assert self.next_commands(ingest("dead-letters", "show", "-f", FILE, position, "--pipeline", "ticks")) == [
            f"attr2hbase dead-letters show {target} {position} --output json | attr2hbase explain {target} --events -",
            f"attr2hbase dead-letters replay {target} {position}",
        ]

    def test_only_pipeline_of_a_file_is_not_named(self, ingest, positions):
        assert self.next_commands(ingest("dead-letters", "list", "-f", FILE))[1] == "attr2hbase dead-letters replay"


class Keyboard(io.StringIO):
    """A terminal on which a user answers, after something else has happened."""

    def __init__(self, answer, meanwhile=lambda: None):
        super().__init__(answer)
        self._meanwhile = meanwhile

    def isatty(self):
        return True

    def readline(self, *arguments):
        self._meanwhile()
        return super().readline(*arguments)


def test_dead_letters_of_a_micro_batch_that_runs_again_are_not_replayed(ingest, positions, folder):
    (entry, *_others) = ingest("dead-letters", "list", "-f", FILE, "--all", "--output", "json").lines
    checkpoint = folder / "data" / "state" / "checkpoints" / entry["pipeline"]
    for name, text in (("offsets", "v1"), ("times", str(entry["batch_time_ms"]))):
        (checkpoint / name).mkdir(parents=True)
        (checkpoint / name / "7").write_text(text)
    result = ingest("dead-letters", "replay", "-f", FILE, positions[0])
    assert "1 dead letter, because their micro-batch is not acknowledged" in result.err
    assert offsets(ingest("dead-letters", "list", "-f", FILE, "--output", "json")) == [0, 4, 8]


def test_dead_letters_that_are_published_after_the_replay_has_begun_are_not_replayed(
    ingest, positions, folder, monkeypatch
):
    """The micro-batch that has published them is killed before its acknowledgement, and runs again."""
    entries = ingest("dead-letters", "list", "-f", FILE, "--all", "--output", "json").lines
    checkpoint = folder / "data" / "state" / "checkpoints" / entries[0]["pipeline"]
    for name, text in (("offsets", "v1"), ("commits", "v1"), ("times", str(entries[0]["batch_time_ms"]))):
        (checkpoint / name).mkdir(parents=True)
        (checkpoint / name / "7").write_text(text)
    entered = DeadLetterReplay.__enter__

    def next_batch(replay):
        found = entered(replay)
        (checkpoint / "offsets" / "8").write_text("v1")
        (checkpoint / "times" / "8").write_text(str(entries[-1]["batch_time_ms"]))
        return found

    monkeypatch.setattr(DeadLetterReplay, "__enter__", next_batch)
    result = ingest("dead-letters", "replay", "-f", FILE)
    assert "1 dead letter, because their micro-batch is not acknowledged" in result.err
    assert offsets(ingest("dead-letters", "list", "-f", FILE, "--output", "json")) == [4, 8]


class TestPurge:
    @pytest.fixture
    def replayed(self, ingest, positions):
        assert ingest("dead-letters", "replay", "-f", FILE, positions[0]).code == 0

    def left(self, ingest):
        return offsets(ingest("dead-letters", "list", "-f", FILE, "--all", "--output", "json"))

    @pytest.mark.parametrize(
        ("options", "deleted", "left"),
        [
            (["--replayed"], 1, [4, 8]),
            (["--before", "1970-01-02"], 2, [8]),
            (["--replayed", "--before", "1970-01-01"], 0, [0, 4, 8]),
            (["--before", "2000-01-01", "--code", "other"], 1, [0, 4]),
            (["--before", "2000-01-01", "--component", "2"], 1, [0, 4]),
            (["--before", "2000-01-01"], 3, []),
        ],
    )
    def test_selected_dead_letters_are_deleted(self, ingest, replayed, options, deleted, left):
        result = ingest("admin", "dead-letters", "purge", "-f", FILE, *options, "--yes", "--output", "json")
        assert (result.code, result.json) == (0, {"selected": deleted, "deleted": deleted})
        assert self.left(ingest) == left

    @pytest.fixture
    def running(self, ingest, positions, folder):
        """The micro-batch of the first two dead letters is not acknowledged."""
        (entry, *_others) = ingest("dead-letters", "list", "-f", FILE, "--all", "--output", "json").lines
        checkpoint = folder / "data" / "state" / "checkpoints" / entry["pipeline"]
        for name, text in (("offsets", "v1"), ("times", str(entry["batch_time_ms"]))):
            (checkpoint / name).mkdir(parents=True)
            (checkpoint / name / "7").write_text(text)

    def test_dead_letters_of_a_micro_batch_that_runs_again_stay(self, ingest, running):
        result = ingest(
            "admin", "dead-letters", "purge", "-f", FILE, "--before", "2000-01-01", "--yes", "--output", "json"
        )
        assert (result.code, result.json["deleted"]) == (0, 1)
        assert self.left(ingest) == [0, 4]

    def test_dry_run_deletes_nothing(self, ingest, replayed):
        result = ingest("admin", "dead-letters", "purge", "-f", FILE, "--replayed", "--dry-run")
        assert (result.code, result.err) == (0, "1 dead letter would be deleted\n")
        assert self.left(ingest) == [0, 4, 8]

    def test_yes_is_required_without_a_terminal(self, ingest, replayed):
        result = ingest("admin", "dead-letters", "purge", "-f", FILE, "--replayed")
        assert (result.code, "add --yes" in result.err) == (2, True)
        assert self.left(ingest) == [0, 4, 8]

    @pytest.mark.parametrize(("answer", "code", "left"), [("y", 0, [4, 8]), ("n", 1, [0, 4, 8])])
    def test_confirmation_on_a_terminal(self, ingest, replayed, monkeypatch, answer, code, left):
        monkeypatch.setattr(sys, "stdin", Keyboard(f"{answer}\n"))
        result = ingest("admin", "dead-letters", "purge", "-f", FILE, "--replayed")
        assert (result.code, "permanently delete 1 dead letter?" in result.err) == (code, True)
        assert self.left(ingest) == left

    @pytest.mark.parametrize(
        ("options", "deleted", "left"),
        [(["--replayed"], 0, [4, 8]), (["--before", "1970-01-02"], 0, [4, 8]), (["--before", "2000-01-01"], 1, [4])],
    )
    def test_dead_letter_that_takes_the_place_of_a_selected_one_stays(
        self, ingest, replayed, folder, monkeypatch, options, deleted, left
    ):
        """A replay of a range runs the micro-batch again while the command asks: its first event does not fail now."""
        queue = FileDeadLetters(folder / "data" / "state", "ticks")
        again = [dead_letter(4, b"bad", "no_match", 1000).to_json()]
        monkeypatch.setattr(sys, "stdin", Keyboard("y\n", lambda: queue.publish(again, 0, 1000)))
        result = ingest("admin", "dead-letters", "purge", "-f", FILE, *options)
        assert result.code == 0
        assert "not deleted, because a replay or purge has changed them meanwhile: " in result.err
        assert result.err.splitlines()[-1].startswith(f"{deleted} dead letter")
        assert self.left(ingest) == left

    def test_dead_letter_that_fails_again_meanwhile_stays(self, ingest, replayed, positions, folder, monkeypatch):
        queue = FileDeadLetters(folder / "data" / "state", "ticks")
        again = {positions[0]: Mark(ReplayOutcome.FAILED_AGAIN, 2000, "no_match")}
        monkeypatch.setattr(sys, "stdin", Keyboard("y\n", lambda: queue.mark(again)))
        result = ingest("admin", "dead-letters", "purge", "-f", FILE, "--replayed", "--output", "json")
        assert (result.code, result.json) == (0, {"selected": 1, "deleted": 0})
        assert self.left(ingest) == [0, 4, 8]

    def test_selection_without_a_match_says_how_many_there_are(self, ingest, replayed):
        result = ingest(
            "admin", "dead-letters", "purge", "-f", FILE, "--code", "unknown", "--replayed", "--before", "2000-01-01"
        )
        (note, done) = result.err.splitlines()
        assert note.startswith("none of 3 dead letters (")
        assert note.endswith(") is selected by --code unknown --replayed --before 2000-01-01")
        assert (result.code, done) == (0, "0 dead letters deleted")

    def test_selection_is_required(self, ingest, positions):
        result = ingest("admin", "dead-letters", "purge", "-f", FILE, "--yes")
        assert (result.code, "purge deletes only what is selected" in result.err) == (2, True)
        assert self.left(ingest) == [0, 4, 8]

    @pytest.mark.parametrize("option", ["--dry-run", "--yes"])
    def test_those_of_a_topic_are_refused_before_it_is_read(self, ingest, pipeline, option):
        file = pipeline / FILE
        topic = '{kafka: {brokers: "127.0.0.1:1", topic: failed}}'
        file.write_text(file.read_text().replace("    sinks:", f"    dead_letters: {topic}\n    sinks:"))
        result = ingest("admin", "dead-letters", "purge", "-f", FILE, "--replayed", option)
        assert (result.code, 'dead letters of topic "failed" cannot be deleted one by one' in result.err) == (2, True)

    def test_only_dead_letters_of_a_micro_batch_that_runs_again(self, ingest, positions, running):
        result = ingest("admin", "dead-letters", "purge", "-f", FILE, "--before", "1970-01-02", "--yes")
        note = "not deleted, because their micro-batch is not acknowledged and runs again: 2 dead letters"
        assert (result.code, result.err.splitlines()) == (0, [note, "0 dead letters deleted"])
