"""Words of the command line: the module of a command is imported when the command is typed."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from ingest.api.errors import ConfigError
from ingest.api.feature_surface import FunctionWord, GroupWord, JobWord, Word
from ingest.cli.command import HELP, command, options_before
from ingest.cli.pipeline_file import command_line, file_of_words, is_file_name
from ingest.plugins.surfaces import at


def command_of(word: Word, words: str) -> "TyperCommand | WordGroup":
    """The command of a word, which these words lead to."""
    match word:
        case FunctionWord(_, place):
            is_here = ":" not in place
            return command(at(f"ingest.cli.{place.replace('.', ':')}" if is_here else place), words)
        case JobWord(_, kind):
            from ingest.cli.job import function_of
            from ingest.service.job_places import job_class

            return command(function_of(words, job_class(kind)), words)
        case GroupWord(summary, inner, admin):
            group = group_of(
                words.rpartition(" ")[2], summary, options_before, no_args_is_help=True, add_completion=False
            )
            return group.fill({"Commands": inner}, words, {} if admin is None else admin.words)


_LEAST = 12  # columns of a name


_OF_EVERY_COMMAND = """\
Each command has --help, -f FILE (else $ATTR2HBASE_FILE, else pipeline.yaml),
--output json and --no-color."""


class WordGroup(TyperGroup):
    """
    A group of commands.

    Attributes:
        sections: heading of the help page -> its words.
    """

    sections: Mapping[str, Mapping[str, Word]] = {}
    _before = ""  # the words that lead to the group
    _admin: Mapping[str, Word] = {}
    _is_listing = False

    def fill(
        self,
        sections: Mapping[str, Mapping[str, Word]],
        before: str = "",
        admin: Mapping[str, Word] = MappingProxyType({}),
    ) -> "WordGroup":
        """
        Give the group its words; returns the group.

        Args:
            sections: as the attribute.
            before: the words that lead to the group.
            admin: the words that lead to other commands after `admin`.
        """
        self.sections, self._before, self._admin = sections, before, admin
        self.commands = {
            name: TyperCommand(name, help=word.summary) for words in sections.values() for name, word in words.items()
        }
        return self

    def every(self) -> Iterator[tuple[str, TyperCommand]]:
        """The words and the command of each command of the group and of its groups."""
        for words in self.sections.values():
            for name, word in words.items():
                found = command_of(word, f"{self._before} {name}".strip())
                if isinstance(found, WordGroup):
                    yield from found.every()
                else:
                    yield f"{self._before} {name}".strip(), found

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a word; None if there is none."""
        word = next((words[cmd_name] for words in self.sections.values() if cmd_name in words), None)
        if word is None or self._is_listing:
            return super().get_command(ctx, cmd_name)
        return command_of(word, f"{self._before} {cmd_name}".strip())

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """
        The command of the first word.

        Raises:
            ConfigError: the word is a pipeline file, or follows `admin`.
        """
        if ctx.resilient_parsing:  # a shell completes words
            return super().resolve_command(ctx, args)
        file, *rest = args
        if file in self._admin and file not in self.commands:
            count = 2 if isinstance(self._admin[file], GroupWord) else 1
            words = " ".join([*self._before.split(), *args[:count]])
            raise ConfigError(
                f'"{words}" is for administrators',
                hint=f"write it as in '{command_line(file_of_words(ctx), f'admin {words}', *args[count:])}'",
            )
        if is_file_name(file):
            following = next(iter(rest), "")
            word = following if following in self.commands else "COMMAND"
            of_group = f' of "{self._before}"; the commands are {", ".join(self.commands)}' if self._before else ""
            raise ConfigError(
                f'"{file}" is no command{of_group}',
                hint=f"the file follows the command: {ctx.command_path} {word} -f {file}",
            )
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """The words that begin so, with a line about each; their modules are not imported."""
        self._is_listing = True
        try:
            return super().shell_complete(ctx, incomplete)
        finally:
            self._is_listing = False

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The help page; of all commands it is one screen, without the options that each command has."""
        if self._before:
            super().format_help(ctx, formatter)
            return
        formatter.write(f"Usage: {ctx.command_path} COMMAND [ARGUMENTS] [OPTIONS]\n{self.help}\n")
        for heading, words in self.sections.items():
            formatter.write_heading(heading)
            formatter.indent()
            formatter.write_dl(_lines(words))
            formatter.dedent()
        formatter.write(f"{_OF_EVERY_COMMAND} Alone: --version, --install-completion.\n")

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """The words; the options are those of every command."""
        self.format_commands(ctx, formatter)
        formatter.write(f"\n{_OF_EVERY_COMMAND}\n")

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The words under their headings, with a line about each; those of groups with both words."""
        del ctx
        for heading, words in self.sections.items():
            every = dict(_unfolded(words))
            with formatter.section(heading):
                formatter.write_dl(_lines(every))
        if self._admin:
            formatter.write_paragraph()
            formatter.write_text(f"For administrators: attr2hbase admin {self._before} {', '.join(self._admin)}.")


def group_of(name: str, summary: str, options: Callable[..., None], **settings: Any) -> WordGroup:
    """
    A group of commands without words.

    Args:
        name: its word.
        summary: a line about it.
        options: the function with the options before its words.
        settings: of `typer.Typer`.
    """
    group = typer.Typer(
        cls=WordGroup,
        name=name,
        help=summary,
        context_settings=HELP,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # a list of commands needs no boxes, and so no rich
        **settings,
    )
    group.callback()(options)
    found = typer.main.get_command(group)
    assert isinstance(found, WordGroup)  # noqa: S101 - for mypy
    return found


def _unfolded(words: Mapping[str, Word]) -> Iterator[tuple[str, Word]]:
    for name, word in words.items():
        if isinstance(word, GroupWord):
            yield from ((f"{name} {each}", inner) for each, inner in _unfolded(word.words))
        else:
            yield name, word


def _lines(words: Mapping[str, Word]) -> list[tuple[str, str]]:
    width = max(map(len, words), default=0)
    return [(f"{name:<{max(width, _LEAST)}}", word.summary) for name, word in words.items()]
