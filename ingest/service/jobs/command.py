"""The command of a kind of job, as data: `ingest.cli.job` makes the command of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class JobCommand(NamedTuple):
    """
    What a command has beside the options of its job.

    Attributes:
        help: its text, with an example.
        advances: what the progress bar counts, and the name of that number in the result.
        does: what is done, as in "compacts the table".
        resumes: the hint if the job has not finished, as in "run the same command again".
        dry_run: help of `--dry-run`; "" without that option.
        asks: the question before the work, from the result of a dry run; None if nothing is deleted. `--yes` answers.
        prints: name of the details that are printed as they are found, each on a line; "" for none.
    """

    help: str
    advances: tuple[str, str]
    does: str
    resumes: str
    dry_run: str = ""
    asks: Callable[[Mapping[str, Any]], str | None] | None = None
    prints: str = ""


@dataclass(frozen=True, slots=True)
class Summary:
    """
    The result of a job for its user.

    Attributes:
        plain: as JSON.
        cells: one row of a table, by the names of its columns, as in `Output.table`; none if empty.
        lines: data, each on a line.
        notes: what the user should look at.
        done: one sentence at the end; none if empty.
        would_change: after a dry run, whether the command without it changes something.
        exit_code: of the command.
    """

    plain: Mapping[str, Any]
    cells: Mapping[str, str] = field(default_factory=dict)
    lines: Sequence[str] = ()
    notes: Sequence[str] = ()
    done: str = ""
    would_change: bool = False
    exit_code: int = 0
