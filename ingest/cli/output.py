"""
What commands print: data on stdout, everything else on stderr, as text or as JSON.

Lines are coloured here by hand, and rich is imported only for tables and progress bars: importing it costs more than
checking a configuration.
"""

import contextlib
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, TextIO, cast

from ingest import __version__

if TYPE_CHECKING:  # their rooms load pydantic, which `--version` and the help pages do without
    from ingest.api.errors import IngestError
    from ingest.config.problems import Report

_CODES = {"bold": "1", "dim": "2", "red": "1;31", "green": "32", "yellow": "33", "cyan": "36"}
# what a terminal would take for a command, and marks that turn the direction of text
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_UNLIMITED = 100_000  # columns of a table that no terminal shows: a line stays a line


class Format(StrEnum):
    """How data is printed."""

    TEXT = "text"
    JSON = "json"


class OutputClosedError(Exception):
    """Nobody reads any more, as after `| head`; the command ends without a word."""


class Output:
    """
    The two streams of a command.

    Attributes:
        format: of the data; `choose` sets it.
        is_plain: no colours, wherever it goes.
    """

    def __init__(self, stdout: TextIO, stderr: TextIO, *, is_plain: bool) -> None:
        self._stdout = stdout
        self._stderr = stderr
        self._opened = contextlib.ExitStack()
        self.format = Format.TEXT
        self.is_plain = is_plain or os.environ.get("TERM") == "dumb"
        for stream in (stdout, stderr):
            reconfigure = getattr(stream, "reconfigure", None)
            if reconfigure is not None:  # a file name that is not UTF-8 must not end a command
                reconfigure(errors="backslashreplace")

    @property
    def is_json(self) -> bool:
        """Whether data is wanted as JSON."""
        return self.format is Format.JSON

    @property
    def is_live(self) -> bool:
        """Whether a person watches, so that things may move."""
        return not self.is_json and self._stderr.isatty()

    def wait_for_nobody(self, on_lost: Callable[[int], None], *, with_data: bool) -> Callable[[], int]:
        """
        Wait for no reader from now on: a service must neither stand still with its log nor stay for its last words.

        All that this process writes to stderr takes part, until `close`. Where that is no file, nothing changes.

        Args:
            on_lost: told how many lines of stderr were left out, once somebody reads again.
            with_data: nor for a reader of stdout.

        Returns:
            Asked, how many lines of stderr were left out so far.
        """
        from ingest.observe.drain import Drain

        stdout, stderr = self._stdout, self._stderr
        data, rest = Drain.of(stdout) if with_data else None, Drain.of(stderr, on_lost)
        self._stdout, self._stderr = cast("TextIO", data or stdout), cast("TextIO", rest or stderr)

        def restore() -> None:
            self._stdout, self._stderr = stdout, stderr
            for drain in (data, rest):
                if drain is not None:
                    drain.finish()

        self._opened.callback(restore)
        self._opened.enter_context(contextlib.redirect_stderr(self._stderr))
        return lambda: 0 if rest is None else rest.lost

    def close(self) -> None:
        """Give the last lines their time."""
        self._opened.close()

    def choose(self, wanted: Format | None, *, is_plain: bool) -> None:
        """Take what the options of a command say."""
        self.format = wanted or self.format
        self.is_plain = self.is_plain or is_plain

    def line(self, text: str = "", style: str = "") -> None:
        """One line of data."""
        self._write(self._styled(_safe(text), style, self._stdout))

    def parts(self, *parts: tuple[str, str]) -> None:
        """One line of data in pieces of (text, style)."""
        self._write("".join(self._styled(_safe(text), style, self._stdout) for text, style in parts))

    def raw(self, text: str) -> None:
        """Data as it is, which ends its own lines."""
        self._write(text, end="")

    def json(self, value: object) -> None:
        """One JSON value on one line."""
        import orjson

        self._write(orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode())

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[str]], width: int = _UNLIMITED) -> None:
        """Rows under a header, as wide as the terminal or else `width`; a `#` in front of a column: it has numbers."""
        from rich import box
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for number, column in enumerate(columns):
            table.add_column(
                column.lstrip("#"),
                justify="right" if column.startswith("#") else "left",
                overflow="fold",
                no_wrap=number == 0,  # what names the row is there to be copied
            )
        for row in rows:
            table.add_row(*(Text(_safe(cell)) for cell in row))
        is_terminal = self._stdout.isatty()
        console = Console(
            file=self._stdout,
            width=None if is_terminal else width,
            force_terminal=is_terminal,
            no_color=not self._colors(self._stdout),
            highlight=False,
        )
        with console.capture() as captured:
            console.print(table)
        lines = (line.rstrip() for line in captured.get().splitlines())
        self._write("\n".join(line for line in lines if line))

    def note(self, text: str, style: str = "") -> None:
        """One line for people that is not data."""
        self._tell(self._styled(_safe(text), style, self._stderr))

    def done(self, text: str) -> None:
        """What was achieved; text mode only, since JSON says it in its data."""
        if not self.is_json:
            self.note(text, "green")

    def next(self, *commands: str) -> None:
        """The likely next commands; text mode only."""
        if not self.is_json:
            for number, command in enumerate(commands):
                lead = "next: " if number == 0 else "      "
                self._tell(self._styled(lead, "dim", self._stderr) + _safe(command))

    def problems(self, report: "Report") -> None:
        """All that is wrong with a configuration, as a compiler tells it."""
        for line in report.to_text().splitlines():
            head = re.match(r"(\S.*?:\d+:\d+: )([a-z-]+): (warning: )?(.*)", line)
            if head is None:
                is_caret = line.rstrip().endswith("^")
                self.note(line, "red" if is_caret else "dim")
            else:
                place, kind, warning, message = head[1], head[2], head[3] or "", head[4]
                color = "yellow" if warning else "red"
                parts = ((place, "bold"), (f"{kind}: {warning}", color), (message, ""))
                self._tell("".join(self._styled(_safe(text), style, self._stderr) for text, style in parts))
        errors, warnings = len(report.errors), len(report.warnings)
        counts = [counted(errors, "error")] if errors else []
        counts += [counted(warnings, "warning")] if warnings else []
        if counts:
            self.note(", ".join(counts), "red" if errors else "yellow")

    def error(self, error: "IngestError") -> None:
        """Why a command failed, and the way out."""
        report: Report | None = getattr(error, "report", None)
        has_problems = report is not None and bool(report.problems)
        if self.is_json:
            import orjson

            about: dict[str, object] = {"code": error.code, "message": error.message, "hint": error.hint}
            if report is not None and has_problems:
                about["problems"] = report.to_json()
            self._tell(orjson.dumps({"error": about}).decode())
        elif report is not None and has_problems:
            self.problems(report)
        else:
            self._tell(self._styled("error: ", "red", self._stderr) + _safe(error.message))
            if error.hint:
                self._tell(self._styled("  hint: ", "cyan", self._stderr) + _safe(error.hint))

    def bug(self, error: Exception, *, with_traceback: bool) -> None:
        """A failure nobody foresaw."""
        if with_traceback:
            self._tell("".join(traceback.format_exception(error)).rstrip())
        name = type(error).__name__
        self._tell(self._styled("bug: ", "red", self._stderr) + _safe(f"{name}: {error}"))
        import platform

        versions = f"attr2hbase {__version__}, Python {platform.python_version()}, {platform.system()}"
        advice = "" if with_traceback else "; INGEST_DEBUG=1 in front of the command shows where"
        self._tell(f"  this is a fault of attr2hbase, please report it ({versions}){advice}")

    @contextlib.contextmanager
    def progress(self, what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
        """A bar on stderr while the block runs; its value is told how far things are. Nothing when nobody watches."""
        if not self.is_live:
            yield lambda _done: None
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        console = Console(file=self._stderr, no_color=self.is_plain)
        with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as bar:
            task = bar.add_task(what, total=total)
            yield lambda done: bar.update(task, completed=done)

    def flush(self) -> None:
        """Send what waits; a reader that has gone away ends the command."""
        try:
            self._stdout.flush()
        except BrokenPipeError:
            self._give_up()

    def _write(self, text: str, end: str = "\n") -> None:
        try:
            self._stdout.write(text + end)
        except BrokenPipeError:
            self._give_up()

    def _tell(self, text: str) -> None:
        self.flush()  # so that the two streams keep their order where they meet
        with contextlib.suppress(BrokenPipeError):
            self._stderr.write(text + "\n")
            self._stderr.flush()

    def _give_up(self) -> None:
        # the interpreter flushes stdout once more when it ends, and must not complain then
        if self._stdout is sys.stdout:
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), self._stdout.fileno())
        raise OutputClosedError

    def _colors(self, stream: TextIO) -> bool:
        return not self.is_plain and stream.isatty()

    def _styled(self, text: str, style: str, stream: TextIO) -> str:
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if style and text and self._colors(stream) else text


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun, as in `1 row`, `2,000 rows`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def counts_of(counts: Mapping[str, int]) -> str:
    """Numbers by name, as in `filter 3, no_row_key 1`."""
    return ", ".join(f"{name} {number:,}" for name, number in sorted(counts.items()))


def _safe(text: str) -> str:
    return _UNSAFE.sub(lambda match: match[0].encode("unicode_escape").decode(), text)
