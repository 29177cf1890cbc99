import errno
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ingest import __version__, cli
from ingest.api import IntegrityError
from ingest.cli import app

SOURCES = Path(cli.__file__).parents[2]


def test_version_is_shown(ingest):
    result = ingest("--version")
    assert (result.code, result.out, result.err) == (0, f"attr2hbase {__version__}\n", "")


def test_command_alone_shows_what_to_begin_with(ingest):
    result = ingest()
    assert (result.code, result.err) == (0, "")
    commands = re.findall(r"^  attr2hbase (\w+)", result.out, re.MULTILINE)
    assert commands == ["init", "test", "run", "scan", "validate"]
    assert "All commands: attr2hbase --help." in result.out


def test_help_is_one_screen_with_all_words(ingest):
    result = ingest("--help")
    lines = result.out.splitlines()
    assert (result.code, len(lines) <= 43, max(map(len, lines)) <= 80) == (0, True, True), result.out
    words = {words.partition(" ")[0] for words, _ in app.application().every()}
    assert words == {line.split()[0] for line in lines if line.startswith("  ")}


def test_every_command_of_administrators_is_listed_in_one_page(ingest):
    result = ingest("admin", "--help")
    every = [words for words, _ in app.application().every() if words.startswith("admin ")]
    assert [words for words in every if f"  {words.partition(' ')[2]} " not in result.out] == []


def test_command_of_administrators_without_their_word(ingest):
    result = ingest("dump", "expire", "/backups", "--keep", "7d")
    assert (result.code, result.out, result.err.splitlines()) == (
        2,
        "",
        [
            'error[config]: "dump expire" is for administrators',
            "  hint: write it as in 'attr2hbase admin dump expire /backups --keep 7d'",
        ],
    )
    assert "For administrators: attr2hbase admin dump expire, pin, unpin." in ingest("dump", "--help").out


@pytest.mark.parametrize(
    ("given", "words", "corrected"),
    [
        ("keys analyse --events a.jsonl", "keys analyse", "attr2hbase admin keys analyse --events a.jsonl"),
        ("keys", "keys", "attr2hbase admin keys"),
        ("log-level debug", "log-level", "attr2hbase admin log-level debug"),
        ("-f a.yaml log-level debug", "log-level", "attr2hbase admin log-level -f a.yaml debug"),
        ("blob -f a.yaml check t", "blob check", "attr2hbase admin blob check -f a.yaml t"),
    ],
)
def test_words_of_administrators_alone(ingest, given, words, corrected):
    result = ingest(*given.split())
    message, hint = result.err.splitlines()
    assert (result.code, message) == (2, f'error[config]: "{words}" is for administrators')
    assert hint == f"  hint: write it as in '{corrected}'"


@pytest.mark.parametrize("arguments", [["--nonsense"], ["nonsense"], ["get"], ["scan", "--limit", "0"]])
def test_wrong_usage_exits_with_2(ingest, arguments):
    result = ingest(*arguments)
    assert (result.code, result.out) == (2, "")
    assert "Usage: attr2hbase" in result.err


@pytest.mark.parametrize(
    ("arguments", "way_out"),
    [
        (["shop.yaml", "validate"], "attr2hbase validate -f shop.yaml"),
        (["shop.yml"], "attr2hbase COMMAND -f shop.yml"),
        (["shop.yaml", "--once"], "attr2hbase COMMAND -f shop.yaml"),
    ],
)
def test_file_in_place_of_the_command(ingest, arguments, way_out):
    result = ingest(*arguments)
    message, hint = result.err.splitlines()
    assert (result.code, message) == (2, f'error[config]: "{arguments[0]}" is no command')
    assert hint == f"  hint: the file follows the command: {way_out}"


def test_file_in_place_of_the_command_of_a_group(ingest):
    result = ingest("offsets", "shop.yaml")
    assert (result.code, result.err.splitlines()) == (
        2,
        [
            'error[config]: "shop.yaml" is no command of "offsets"; the commands are show, reset',
            "  hint: the file follows the command: attr2hbase offsets COMMAND -f shop.yaml",
        ],
    )


def test_shell_completion_is_offered(ingest):
    assert "--install-completion" in ingest("--help").out


class TestErrors:
    def test_message_and_hint_on_stderr(self, ingest, folder):
        result = ingest("validate", "absent.yaml")
        assert (result.code, result.out) == (3, "")
        assert result.err.startswith("error[")
        assert "absent.yaml" in result.err

    def test_error_is_written_as_json(self, ingest, folder):
        result = ingest("test", "absent.yaml", "--output", "json")
        assert result.code == 3
        assert json.loads(result.err)["error"]["code"] == "not_found"

    def test_output_format_may_precede_the_command(self, ingest, folder):
        assert json.loads(ingest("--output", "json", "test", "absent.yaml").err)["error"]["code"] == "not_found"

    def test_problems_have_the_form_of_compiler_messages(self, ingest, folder):
        (folder / "p.yaml").write_text("version: 1\npipelnes: {}\n")
        result = ingest("run", "p.yaml")
        assert result.code == 2
        assert "p.yaml:2:1: unknown-field: " in result.err
        assert "    2 | pipelnes: {}\n      | ^\n" in result.err

    def test_exit_code_is_that_of_the_error(self, ingest, monkeypatch):
        monkeypatch.setattr(
            app,
            "application",
            lambda *_words, **_options: _failing(IntegrityError("row 7 is damaged", hint="restore it")),
        )
        result = ingest("--version")
        assert (result.code, result.err) == (5, "error[integrity]: row 7 is damaged\n  hint: restore it\n")

    def test_control_characters_are_escaped(self, ingest, monkeypatch):
        monkeypatch.setattr(app, "application", lambda *_words, **_options: _failing(IntegrityError("a\x1b[2Jb")))
        assert ingest("--version").err == "error[integrity]: a\\x1b[2Jb\n"

    def test_system_errors_name_the_file(self, ingest, pipeline):
        result = ingest("test", "pipeline.yaml", "--junit", "absent/report.xml")
        assert (result.code, result.err) == (1, 'error[os]: no such file or directory "absent/report.xml"\n')

    def test_denied_permission_has_a_hint(self, ingest, monkeypatch):
        denied = PermissionError(errno.EACCES, "Permission denied", "state/dead-letters")
        monkeypatch.setattr(app, "application", lambda *_words, **_options: _failing(denied))
        result = ingest("--version")
        message, hint = result.err.splitlines()
        assert (result.code, message) == (1, 'error[os]: permission denied "state/dead-letters"')
        assert hint == "  hint: check its owner and its permissions; state belongs to the user of the service"

    def test_bug_asks_for_a_report(self, ingest, monkeypatch):
        monkeypatch.setattr(app, "application", lambda *_words, **_options: _failing(KeyError("x")))
        result = ingest("--version")
        assert result.code == 1
        assert result.err.startswith("bug: KeyError: 'x'\n")
        assert "Traceback" not in result.err
        monkeypatch.setenv("ATTR2HBASE_DEBUG", "1")
        assert "Traceback" in ingest("--version").err

    def test_interrupt_exits_with_130(self, ingest, monkeypatch):
        monkeypatch.setattr(app, "application", lambda *_words, **_options: _failing(KeyboardInterrupt()))
        result = ingest("--version")
        assert (result.code, result.err) == (130, "interrupted\n")


def _failing(error):
    def run(**_arguments):
        raise error

    return run


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_closed_stdout_ends_a_command_silently(unbuffered: str):
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "ingest", "describe"],
            stdout=writing,
            stderr=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": str(SOURCES), "PYTHONUNBUFFERED": unbuffered},
            check=False,
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


class TestColours:
    def test_none_without_a_terminal(self, ingest, pipeline):
        assert "\x1b" not in ingest("test", "pipeline.yaml").out

    def test_on_a_terminal(self, pipeline, terminal):
        assert "\x1b[32mpassed  \x1b[0m" in terminal("test", "pipeline.yaml")

    @pytest.mark.parametrize(
        "arguments", ["--no-color test pipeline.yaml", "test --no-color pipeline.yaml", "-h --no-color"]
    )
    def test_colours_can_be_disabled(self, pipeline, terminal, arguments):
        assert "\x1b[3" not in terminal(*arguments.split())

    def test_no_color_of_the_environment(self, pipeline, terminal):
        assert "\x1b[3" not in terminal("test", "pipeline.yaml", NO_COLOR="1")


def test_windows_is_refused_by_name(ingest, monkeypatch):
    monkeypatch.setattr("sys.platform", "win32")
    done = ingest("--version")
    assert done.code == 2
    assert "error[config]: attr2hbase does not run on Windows" in done.err
