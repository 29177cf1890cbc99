"""The command of a kind of job, as data: `ingest.cli.job` makes the command of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple, Self

from ingest.api import Model


class Subject(StrEnum):
    """
    What a job works on, as a request names it.

    Attributes:
        example: such a subject.
    """

    TABLE = "table", "counts"
    """A table, an argument of the command."""
    ROOT = "root", "/dumps"
    """The root of dumps, an option."""
    TO = "to", "STORE:TABLE"
    """The target of a copy, an option."""
    PIPELINE = "pipeline", "clicks"
    """A pipeline, an option if the file has several."""

    example: str

    def __new__(cls, name: str, example: str) -> Self:
        """A member with the value `name`."""
        found = str.__new__(cls, name)
        found._value_, found.example = name, example
        return found


class JobCommand(NamedTuple):
    """
    What a command has beside the options of its job.

    Attributes:
        help: its text, with an example.
        advances: what the progress bar counts, and the name of that number in the result.
        total: name of the number in the result that the progress bar ends at; "" if it is not known.
        does: what is done, as in "compacts the table".
        resumes: the hint if the job has not finished, as in "run the same command again".
        subject: what the job works on.
        section: the section of the file that has the options of a model for those that are left out; "" without one.
        dry_run: help of `--dry-run`; "" without that option.
        asks: the question before the work, from the result of a dry run; None if nothing is deleted. `--yes` answers.
        prints: name of the details that are printed as they are found, each on a line; "" for none.
        shows: such a detail as text.
        arguments: names of options that are arguments of the command, in this order after the subject.
        resumed_by: the option with which a command continues the job, from the result so far; None if the same command
            does.
    """

    help: str
    advances: tuple[str, str]
    does: str
    resumes: str
    subject: Subject = Subject.TABLE
    total: str = ""
    section: tuple[str, type[Model]] = ("", Model)
    dry_run: str = ""
    asks: Callable[[Mapping[str, Any]], str | None] | None = None
    prints: str = ""
    shows: Callable[[Any], str] = str
    arguments: Sequence[str] = ()
    resumed_by: Callable[[Mapping[str, Any]], str] | None = None


class NextCommand(NamedTuple):
    """
    A command that a user is likely to run after another one.

    Attributes:
        words: of the command, with its group.
        arguments: its arguments and options, without the file and the pipeline of several.
        is_about_file: whether it reads a pipeline file.
    """

    words: str
    arguments: Sequence[str] = ()
    is_about_file: bool = True


@dataclass(frozen=True, slots=True)
class Summary:
    """
    The result of a job for its user.

    Attributes:
        plain: as JSON.
        table: rows by the names of their columns, as in `Output.table`; none if empty.
        lines: data, each on a line.
        notes: what the user should look at.
        done: one sentence at the end; none if empty.
        next: the likely next command; None without one.
        would_change: after a dry run, whether the command without it changes something.
        exit_code: of the command.
    """

    plain: Mapping[str, Any]
    table: Sequence[Mapping[str, str]] = ()
    lines: Sequence[str] = ()
    notes: Sequence[str] = ()
    done: str = ""
    next: NextCommand | None = None
    would_change: bool = False
    exit_code: int = 0
