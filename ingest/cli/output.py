"""
Output of commands: data on stdout, everything else on stderr, as text or as JSON.

Only progress bars import rich as a whole, because that takes longer than checking a configuration; other lines are
coloured here.
"""

import contextlib
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from io import StringIO
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Protocol, TextIO, cast

from ingest import __version__
from ingest.amounts import counted

if TYPE_CHECKING:  # these packages load pydantic, which `--version` and the help pages do not need
    from ingest.api.errors import IngestError
    from ingest.config.problems import Report

_CODES = {"bold": "1", "dim": "2", "red": "1;31", "green": "32", "yellow": "33", "cyan": "36"}
# control characters of terminals, and marks that change the direction of text
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
WIDTH = 80
"""Columns of what is laid out for reading, if it is not on a terminal."""
_UNLIMITED = 100_000  # columns of a table that is not on a terminal: no line is wrapped


class Format(StrEnum):
    """How data is printed."""

    TEXT = "text"
    JSON = "json"


class OutputClosedError(Exception):
    """The reader of stdout has closed it, as after `| head`; the command ends silently."""


class Advance(Protocol):
    """Sets a progress bar."""

    def __call__(self, done: int, total: int | None = None) -> None:
        """Set the number done, and that of all if it is known only now."""


class Output:
    """
    The two streams of a command.

    Attributes:
        format: of the data; `choose` sets it.
        is_plain: no colours, also on a terminal.
        failure_code: exit code of a failure while running, 1 unless that means something else for the command.
    """

    def __init__(self, stdout: TextIO, stderr: TextIO, *, is_plain: bool) -> None:
        self._stdout = stdout
        self._stderr = stderr
        self._opened = contextlib.ExitStack()
        self.format = Format.TEXT
        self.failure_code = 1
        self.is_plain = is_plain or os.environ.get("TERM") == "dumb"
        self._hide: Callable[[str], str] = str
        self._hide_data: Callable[[str], str] = str
        for stream in (stdout, stderr):
            reconfigure = getattr(stream, "reconfigure", None)
            if reconfigure is not None:  # a file name that is not UTF-8 must not end a command
                reconfigure(errors="backslashreplace")

    @property
    def is_json(self) -> bool:
        """Whether data is printed as JSON."""
        return self.format is Format.JSON

    @property
    def is_live(self) -> bool:
        """Whether stderr is a terminal, so progress can be shown."""
        return not self.is_json and self._stderr.isatty()

    def write_without_blocking(self, on_drop: Callable[[int], None], *, with_data: bool) -> Callable[[], int]:
        """
        From now on, drop output that is not read: a blocked stderr must neither stop a service nor delay its exit.

        Applies to everything this process writes to stderr until `close`; no effect if stderr has no file descriptor.

        Args:
            on_drop: called with the number of dropped lines of stderr, once it is read again.
            with_data: also for stdout.

        Returns:
            A function that returns the number of lines of stderr dropped so far.
        """
        from ingest.observe.drain import Drain

        stdout, stderr = self._stdout, self._stderr
        data, rest = Drain.of(stdout) if with_data else None, Drain.of(stderr, on_drop)
        self._stdout, self._stderr = cast("TextIO", data or stdout), cast("TextIO", rest or stderr)

        def restore() -> None:
            self._stdout, self._stderr = stdout, stderr
            for drain in (data, rest):
                if drain is not None:
                    drain.finish()

        self._opened.callback(restore)
        self._opened.enter_context(contextlib.redirect_stderr(self._stderr))
        return lambda: 0 if rest is None else rest.dropped

    def close(self) -> None:
        """Write the remaining lines, for a bounded time."""
        self._opened.close()

    def choose(self, wanted: Format | None, *, is_plain: bool) -> None:
        """Apply the output options of a command."""
        self.format = wanted or self.format
        self.is_plain = self.is_plain or is_plain

    def hide_secrets(self, hide: Callable[[str], str], *, in_data: bool) -> None:
        """
        Mask the secrets of a configuration from now on.

        Args:
            hide: returns a text without them.
            in_data: on stdout too. Stored cells and records are not masked: a short secret that occurs in one by chance
                would change the exported data.
        """
        self._hide = hide
        self._hide_data = hide if in_data else str

    def masked(self, text: str) -> str:
        """A text of data as it is printed; one that is cut is masked before, so that no part of a secret remains."""
        return self._hide_data(text)

    def line(self, text: str = "", style: str = "") -> None:
        """One line of data; text mode only."""
        self.parts((text, style))

    def parts(self, *parts: tuple[str, str]) -> None:
        """One line of data in pieces of (text, style); text mode only."""
        if not self.is_json:
            self._write("".join(self._styled(_safe(text), style, self._stdout) for text, style in parts))

    def cut(self, *parts: tuple[str, str]) -> bool:
        """The same as `parts`; on a terminal the line is cut to its width. Returns whether it was."""
        if self.is_json or not self._stdout.isatty():
            self.parts(*parts)
            return False
        from rich.cells import cell_len, set_cell_size

        left = get_terminal_size().columns
        # masked before it is cut, so that no part of a secret remains
        safe = [(self._hide_data(_safe(text).expandtabs()), style) for text, style in parts]
        is_cut = sum(cell_len(text) for text, _ in safe) > left
        left -= is_cut
        shown = []
        for text, style in safe:
            size = min(cell_len(text), left)
            shown.append((set_cell_size(text, size), style))
            left -= size
        self.parts(*shown, ("…" if is_cut else "", "dim"))
        return is_cut

    def wrapped(self, text: str, style: str = "", indent: str = "", *, most: int | None = None) -> None:
        """
        A text of data in lines that are as wide as the terminal, or else `WIDTH`, broken between words; text mode only.

        Args:
            text: without `indent`.
            style: of all lines.
            indent: before each line.
            most: lines; the last one then ends with "…".
        """
        if self.is_json:
            return
        from ingest.cli.text_table import wrapped

        width = get_terminal_size().columns if self._stdout.isatty() else WIDTH
        lines = wrapped(self._hide_data(_safe(text)), width - 1, indent)
        if most is not None and len(lines) > most:
            lines = [*lines[: most - 1], f"{lines[most - 1]}…"]
        for line in lines:
            self.line(line, style)

    def raw(self, text: str) -> None:
        """Data unchanged, including its newlines."""
        self._write(text, end="")

    def data(self, content: bytes) -> None:
        """Bytes as they are; secrets are not masked."""
        self.flush()
        try:
            self._stdout.buffer.write(content)
        except BrokenPipeError:
            self._end_output()

    def plain(self, value: object) -> None:
        """The data as one JSON value on one line; JSON mode only, in which lines and tables are not printed."""
        if self.is_json:
            self.json(value)

    def json(self, value: object) -> None:
        """One JSON value on one line, in both modes."""
        import orjson

        self._write(orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode())

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[str]], width: int | None = None) -> None:
        """Rows under a header, as `laid_out`, as wide as the terminal, else `width` if it is given; text mode only."""
        if self.is_json:
            return
        from ingest.cli.text_table import laid_out

        safe = [[_safe(cell).expandtabs() for cell in row] for row in rows]
        is_terminal = self._stdout.isatty()
        for line in laid_out(columns, safe, get_terminal_size().columns if is_terminal else width or _UNLIMITED):
            self._write(self._styled(line.head, "bold", self._stdout) + line.rest)

    @property
    def has_screen(self) -> bool:
        """Whether stdout is a terminal, so a picture can be drawn again."""
        return not self.is_json and self._stdout.isatty() and os.environ.get("TERM") != "dumb"

    @contextlib.contextmanager
    def screen(self, more: str) -> Iterator[Callable[[Callable[[], None]], None]]:
        """
        The alternate screen of the terminal, until the block ends.

        Args:
            more: what is said in the last line of the terminal if a picture has more lines.

        Yields:
            What draws a picture in place of the last one: it is given a function that prints the lines of data.
        """
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        terminal = self._stdout
        console = Console(file=terminal, no_color=self.is_plain)

        def picture(lines: Callable[[], None]) -> Text:
            self._stdout = drawn = _Drawn()
            try:
                lines()
            finally:
                self._stdout = terminal
            shown = drawn.getvalue().splitlines()
            if len(shown) > console.height:
                shown[console.height - 1 :] = [self._styled(more, "dim", drawn)]
            return Text.from_ansi("\n".join(shown))

        with Live(console=console, screen=True, auto_refresh=False) as live:
            yield lambda lines: live.update(picture(lines), refresh=True)

    def note(self, text: str, style: str = "") -> None:
        """One line on stderr."""
        self._write_stderr(self._styled(_safe(text), style, self._stderr))

    def to_terminal(self, text: str) -> None:
        """One line for a user who waits, on the stream that is a terminal; none if neither is, nor with JSON."""
        streams = [] if self.is_json else [self._stderr, self._stdout]
        if terminal := next((stream for stream in streams if stream.isatty()), None):
            terminal.write(self._styled(text, "dim", terminal) + "\n")
            terminal.flush()

    def state(self, state: str, reason: str) -> None:
        """The state of a background job that a service runs, if there is a reason for it."""
        if reason:
            self.note(f"{state}: {reason}", "yellow")

    def done(self, text: str) -> None:
        """A summary of the result; text mode only, since the JSON data contains it."""
        if not self.is_json:
            self.note(text, "green")

    def next(self, *commands: str) -> None:
        """The likely next commands; text mode only."""
        if not self.is_json:
            for number, command in enumerate(commands):
                lead = "next: " if number == 0 else "      "
                self._write_stderr(self._styled(lead, "dim", self._stderr) + _safe(command))

    def problems(self, report: "Report") -> None:
        """All problems of a configuration, in the form of a compiler's messages."""
        for line in report.to_text().splitlines():
            head = re.match(r"(\S.*?:\d+:\d+: )([a-z-]+): (warning: )?(.*)", line)
            if head is None:
                is_caret = line.rstrip().endswith("^")
                self.note(line, "red" if is_caret else "dim")
            else:
                place, kind, warning, message = head[1], head[2], head[3] or "", head[4]
                color = "yellow" if warning else "red"
                parts = ((place, "bold"), (f"{kind}: {warning}", color), (message, ""))
                self._write_stderr("".join(self._styled(_safe(text), style, self._stderr) for text, style in parts))
        errors, warnings = len(report.errors), len(report.warnings)
        counts = [counted(errors, "error")] if errors else []
        counts += [counted(warnings, "warning")] if warnings else []
        if counts:
            self.note(", ".join(counts), "red" if errors else "yellow")

    def error(self, error: "IngestError") -> None:
        """Why a command failed, with the hint."""
        report: Report | None = getattr(error, "report", None)
        has_problems = report is not None and bool(report.problems)
        if self.is_json:
            import orjson

            about: dict[str, object] = {"code": error.code, "message": error.message, "hint": error.hint}
            if report is not None and has_problems:
                about["problems"] = report.to_json()
            self._write_stderr(orjson.dumps({"error": about}).decode())
        elif report is not None and has_problems:
            self.problems(report)
        else:
            self._write_stderr(
                self._styled(f"error[{_safe(error.code)}]: ", "red", self._stderr) + _safe(error.message)
            )
        if error.hint and not self.is_json:
            self._write_stderr(self._styled("  hint: ", "cyan", self._stderr) + _safe(error.hint))

    def bug(self, error: Exception, *, with_traceback: bool) -> None:
        """An unexpected exception."""
        if with_traceback:
            self._write_stderr("".join(traceback.format_exception(error)).rstrip())
        name = type(error).__name__
        self._write_stderr(self._styled("bug: ", "red", self._stderr) + _safe(f"{name}: {error}"))
        import platform

        versions = f"attr2hbase {__version__}, Python {platform.python_version()}, {platform.system()}"
        advice = "" if with_traceback else "; ATTR2HBASE_DEBUG=1 before the command shows the traceback"
        self._write_stderr(f"  this is a bug in attr2hbase, please report it ({versions}){advice}")

    @contextlib.contextmanager
    def progress(self, what: str, total: int | None = None) -> Iterator[Advance]:
        """A progress bar on stderr, if it is a terminal; yields the function that sets it."""
        if not self.is_live:
            yield lambda done, total=None: None  # noqa: ARG005 - as `Advance` names them
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        console = Console(file=self._stderr, no_color=self.is_plain)
        with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as bar:
            task = bar.add_task(what, total=total)
            yield lambda done, total=None: bar.update(task, completed=done, total=total)

    def flush(self) -> None:
        """Write buffered data; raises OutputClosedError if the reader has closed the stream."""
        try:
            self._stdout.flush()
        except BrokenPipeError:
            self._end_output()

    def _write(self, text: str, end: str = "\n") -> None:
        try:
            self._stdout.write(self._hide_data(text) + end)
        except BrokenPipeError:
            self._end_output()

    def _write_stderr(self, text: str) -> None:
        self.flush()  # keeps the order of both streams on one terminal
        with contextlib.suppress(BrokenPipeError):
            self._stderr.write(self._hide(text) + "\n")
            self._stderr.flush()

    def _end_output(self) -> None:
        # the interpreter flushes stdout at exit, which must not fail again
        if self._stdout is sys.stdout:
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), self._stdout.fileno())
        raise OutputClosedError

    def _colors(self, stream: TextIO) -> bool:
        return not self.is_plain and stream.isatty()

    def _styled(self, text: str, style: str, stream: TextIO) -> str:
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if style and text and self._colors(stream) else text


class _Drawn(StringIO):
    """Lines for a terminal, which are drawn later."""

    def isatty(self) -> bool:
        return True


def _safe(text: str) -> str:
    return _UNSAFE.sub(lambda match: match[0].encode("unicode_escape").decode(), text)
