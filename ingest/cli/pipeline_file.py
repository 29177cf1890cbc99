"""The pipeline file of a command: the one that is named, else `ATTR2HBASE_FILE`, else `pipeline.yaml` here."""

import os
import shlex
from typing import Any

from ingest.api.errors import ConfigError

VARIABLE = "ATTR2HBASE_FILE"
USUAL = "pipeline.yaml"


def is_file_name(word: str) -> bool:
    """Whether a word is the name of a pipeline file, rather than a table, a key or a pipeline."""
    return word.endswith((".yaml", ".yml"))


def found_file() -> str:
    """The file of a command that names none."""
    return os.environ.get(VARIABLE) or USUAL


def named_file(*given: str | None) -> str | None:
    """
    The file that is named in one or several places; None if it is in none.

    Raises:
        ConfigError: they name different files.
    """
    names = [name for name in given if name is not None]
    if len(set(names)) > 1:
        raise ConfigError(
            f'two pipeline files: "{names[0]}" and "{names[1]}"', hint="name one, with -f FILE or as the argument"
        )
    return next(iter(names), None)


def file_of_words(context: Any) -> str | None:
    """
    The file that the words of a command line name: an option before, between or after the words, or the argument.

    Args:
        context: of the command, or of a group of commands.

    Returns:
        None if no word names a file.

    Raises:
        ConfigError: they name different files.
    """
    named = [context.params.get("file_argument")]
    while context is not None:
        named.insert(0, context.params.get("file"))
        context = context.parent
    return named_file(*named)


def command_line(file: str | None, words: str, *arguments: str) -> str:
    """
    A command to paste; it names the file if that is not the one that is found without a name.

    Args:
        file: None if the command is not about a file.
        words: of the command, with its group.
        arguments: its arguments and options.
    """
    named = [] if file is None or file == found_file() else ["-f", file]
    return shlex.join(["attr2hbase", *words.split(), *named, *arguments])
