"""Every option is used by a test, and every command has an example."""

from pathlib import Path

import pytest

from ingest.cli.app import application

EVERYWHERE = {
    "--file",
    "-f",
    "--output",
    "--no-color",
    "--help",
    "-h",
    "--version",
    "--install-completion",
    "--show-completion",
}


COMMANDS = dict(application().every())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_an_example(name):
    assert f"Example: attr2hbase {name}" in COMMANDS[name].help


@pytest.mark.parametrize("name", COMMANDS)
def test_paragraphs_of_the_help_are_broken_by_the_terminal_alone(name):
    paragraphs = COMMANDS[name].help.split("\n\n")
    assert [each for each in paragraphs if "\n" in each.replace("\nExample: ", "")] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_used_by_a_test(name):
    folder = Path(__file__).resolve().parents[3]
    files = [*folder.glob("unit/ingest/cli/test_*.py"), *folder.glob("integration/test_*.py")]
    texts = [file.read_text() for file in files if file != Path(__file__)]
    tests = [text for text in texts if all(f'"{word}"' in text for word in name.split())]
    options = {option for parameter in COMMANDS[name].params for option in parameter.opts if option.startswith("-")}
    assert [option for option in sorted(options - EVERYWHERE) if not any(f'"{option}"' in text for text in tests)] == []


def test_names_of_commands_are_their_last_words():
    assert {words: command.name for words, command in COMMANDS.items()} == {
        words: words.rpartition(" ")[2] for words in COMMANDS
    }
