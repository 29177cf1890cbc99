"""Lines of commands that fit the terminal."""

import io
import os
import pty
from collections.abc import Callable
from contextlib import suppress

import pytest

from ingest.cli.output import WIDTH, Output


@pytest.fixture
def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Output], object]], list[str]]:
    """What is printed on a terminal of 20 columns."""
    monkeypatch.setenv("COLUMNS", "20")

    def printed(show: Callable[[Output], object]) -> list[str]:
        reading, writing = pty.openpty()
        with os.fdopen(writing, "w") as terminal:
            out = Output(terminal, io.StringIO(), is_plain=True)
            show(out)
            out.flush()
        shown = b""
        with suppress(OSError):  # the other end is closed, and all was read; one read may return a part
            while part := os.read(reading, 1 << 16):
                shown += part
        os.close(reading)
        return shown.decode().splitlines()

    return printed


def test_line_is_cut_to_the_columns_of_the_terminal(on_terminal):
    assert on_terminal(lambda out: out.cut(("a = ", "dim"), ("x" * 16, ""))) == ["a = " + "x" * 16]
    assert on_terminal(lambda out: out.cut(("a = ", "dim"), ("x" * 17, ""), ("y", ""))) == ["a = " + "x" * 15 + "…"]
    assert on_terminal(lambda out: out.cut(("漢" * 15, ""))) == ["漢" * 9 + " …"]


def test_no_part_of_a_secret_is_left_where_a_line_is_cut(on_terminal):
    def show(out: Output) -> None:
        out.hide_secrets(lambda text: text.replace("s3cret", "***"), in_data=True)
        out.cut(("x" * 16 + "s3cret", ""))
        out.wrapped("x" * 16 + " s3cret")

    assert on_terminal(show) == ["x" * 16 + "***", "x" * 16, "***"]


def test_text_is_broken_between_words_unless_one_is_longer_than_a_line(on_terminal):
    text = f"store_timed_out: hbase {'x' * 25}"
    expected = ["  store_timed_out:", "  hbase", f"  {'x' * 17}", f"  {'x' * 8}"]
    assert on_terminal(lambda out: out.wrapped(text, indent="  ")) == expected
    assert on_terminal(lambda out: out.wrapped(text, indent="  ", most=2)) == [expected[0], f"{expected[1]}…"]


def test_lines_that_are_not_on_a_terminal_are_whole_or_have_80_columns():
    stream = io.StringIO()
    out = Output(stream, io.StringIO(), is_plain=True)
    assert not out.cut(("x" * 200, ""))
    out.wrapped("word " * 40)
    first, *others = stream.getvalue().splitlines()
    assert (first, max(map(len, others)) <= WIDTH) == ("x" * 200, True)
