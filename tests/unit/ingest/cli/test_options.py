"""Every option is used by a test, and every command has an example."""

from pathlib import Path

import pytest
import typer

from ingest.cli.app import application

EVERYWHERE = {"--output", "--no-color", "--help", "-h", "--version", "--install-completion", "--show-completion"}


def commands(command=None, path=()):
    command = command or typer.main.get_command(application())
    inner = getattr(command, "commands", {})
    if not inner:
        yield " ".join(path), command
    for name, child in inner.items():
        yield from commands(child, (*path, name))


COMMANDS = dict(commands())


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


@pytest.mark.parametrize("name", COMMANDS)
def test_application_for_one_command_has_the_same_help(name):
    first = name.split()[0]
    built = dict(commands(typer.main.get_command(application(first))))
    assert built.keys() == {each for each in COMMANDS if each.split()[0] == first}
    assert [each.name for each in built[name].params] == [each.name for each in COMMANDS[name].params]


def test_application_without_options_has_the_same_summaries():
    built = dict(commands(typer.main.get_command(application(has_options=False))))
    summaries = {name: command.help.partition("\n\n")[0] for name, command in COMMANDS.items()}
    assert {name: command.help.partition("\n\n")[0] for name, command in built.items()} == summaries


@pytest.mark.parametrize("word", ["", "-h", "--output", "vlidate"])
def test_application_for_another_word_has_all_commands(word: str):
    assert dict(commands(typer.main.get_command(application(word)))).keys() == COMMANDS.keys()
