"""
Tables as lines of text, which fit a width without broken words.

A table that is too wide is set with smaller gaps, then with cells of several lines, broken between words only. If that
is not enough, each row becomes a paragraph: its name, and a line for each value.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from rich.cells import cell_len, chop_cells

_GAP, _SMALL_GAP = 3, 2  # columns of the terminal between two cells
_RULE = "─"
_MAX_RULE = 150
_NUMBER = "#"


@dataclass(frozen=True, slots=True)
class Line:
    """
    A line of a table.

    Attributes:
        head: its part that names the columns or the row; the rest follows.
    """

    head: str
    rest: str = ""


def laid_out(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[Line]:
    """
    The lines of a table under a header.

    The first column is never broken: it is the name of the row, which users copy.

    Args:
        columns: their names; `#` before one marks numbers, which are set right.
        rows: a text for each column.
        width: columns of the terminal; only words that are longer exceed it.
    """
    for gap in (_GAP, _SMALL_GAP):
        if widths := _widths(columns, rows, width, gap, wraps=False):
            return _table(columns, rows, widths, gap)
    shown = [number for number in range(len(columns)) if number == 0 or any(row[number] for row in rows)]
    columns, rows = [columns[number] for number in shown], [[row[number] for number in shown] for row in rows]
    if widths := _widths(columns, rows, width, _SMALL_GAP, wraps=True):
        return _table(columns, rows, widths, _SMALL_GAP)
    return _paragraphs([column.lstrip(_NUMBER) for column in columns], rows, width)


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """A text as lines that begin with `indent` and fit a width; only words that are longer than a line are broken."""
    room = max(1, width - cell_len(indent))
    return [f"{indent}{part}" for line in _broken(text, room) for part in (chop_cells(line, room) or [""])]


def _widths(
    columns: Sequence[str], rows: Sequence[Sequence[str]], width: int, gap: int, *, wraps: bool
) -> list[int] | None:
    """The width of each column; None if the table does not fit."""
    cells = [[column.lstrip(_NUMBER), *(row[number] for row in rows)] for number, column in enumerate(columns)]
    wanted = [max(_longest(text.splitlines()) for text in column) for column in cells]
    least = list(wanted)
    if wraps:
        least[1:] = [
            max(_longest(_header_words(head)), *(_longest(text.split()) for text in texts), 0)
            for head, *texts in cells[1:]
        ]
    spare = width - 1 - sum(least) - gap * (len(columns) - 1)
    if spare < 0:
        return None
    while spare and (missing := [number for number, most in enumerate(wanted) if least[number] < most]):
        # the column with the most lines gets the next place
        number = max(missing, key=lambda each: wanted[each] / max(least[each], 1))
        least[number] += 1
        spare -= 1
    return least


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]], widths: Sequence[int], gap: int) -> list[Line]:
    names = [column.lstrip(_NUMBER) for column in columns]
    are_numbers = [column.startswith(_NUMBER) for column in columns]
    # a table of any width, in a pipe, has a line that still fits most screens
    rule = " " + _RULE * min(sum(widths) + gap * (len(columns) - 1), _MAX_RULE)
    header = [
        _wrapped(name, size, _header_words(name), "") if cell_len(name) > size else [name]
        for name, size in zip(names, widths, strict=True)
    ]
    lines = [Line(text) for text in _set(header, widths, are_numbers, gap)]
    lines.append(Line("", rule))
    for row in rows:
        cells = [_broken(text, size) for text, size in zip(row, widths, strict=True)]
        lines += [Line("", text) for text in _set(cells, widths, are_numbers, gap)]
    return lines


def _set(cells: Sequence[list[str]], widths: Sequence[int], are_numbers: Sequence[bool], gap: int) -> Iterable[str]:
    """The lines of a row whose cells have several."""
    for parts in zip_longest(*cells, fillvalue=""):
        texts = [
            " " * (size - cell_len(text)) + text if is_number else text + " " * (size - cell_len(text))
            for text, size, is_number in zip(parts, widths, are_numbers, strict=True)
        ]
        yield " " + (" " * gap).join(texts).rstrip()


def _paragraphs(names: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[Line]:
    size = max((cell_len(name) for name in names[1:]), default=0)
    indent = " " * (size + 5)
    lines = []
    for row in rows:
        lines.append(Line(f" {row[0]}"))
        for name, text in zip(names[1:], row[1:], strict=True):
            if text:
                first, *others = _broken(text, width - len(indent))
                lines.append(Line("", f"   {name}{' ' * (size - cell_len(name))}  {first}"))
                lines += [Line("", indent + other) for other in others]
    return lines


def _broken(text: str, width: int) -> list[str]:
    """The lines of a cell."""
    found: list[str] = []
    for line in text.splitlines() or [""]:
        found += [line] if cell_len(line) <= width else _wrapped(line, width, line.split(), " ")
    return found


def _wrapped(text: str, width: int, words: Sequence[str], joint: str) -> list[str]:
    lines = [""]
    for word in words:
        longer = f"{lines[-1]}{joint}{word}" if lines[-1] else word
        if lines[-1] and cell_len(longer.rstrip()) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return [line.rstrip() for line in lines] if text else [""]


def _header_words(name: str) -> list[str]:
    """The parts of the name of a column that stay whole, with the blank or the hyphen that follows."""
    return name.replace(" ", " \n").replace("-", "-\n").split("\n")


def _longest(words: Iterable[str]) -> int:
    return max((cell_len(word.rstrip()) for word in words), default=0)
