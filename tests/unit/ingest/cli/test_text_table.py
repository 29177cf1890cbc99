"""Tables of text: as wide as their content, or as a terminal, with whole words."""

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from ingest.cli.text_table import laid_out

TOTALS = (
    "pipeline",
    "#events",
    "#stored",
    "#dropped",
    "#dead-lettered",
    "#rows sent",
    "#cells",
    "#seconds",
    "#events/s",
)
COUNTS = ("ticks", "14", "10", "3", "1", "10", "20", "4.3", "123")
CHECKS = ("check", "of", "found", "set")
WORDS = st.text("abé漢", min_size=1, max_size=12)
TEXTS = st.lists(WORDS, max_size=6).map(" ".join)


def shown(columns: tuple[str, ...], rows: list[tuple[str, ...]], width: int) -> list[str]:
    return [line.head + line.rest for line in laid_out(columns, rows, width)]


def test_a_table_that_fits_has_a_line_for_each_row():
    assert shown(("table", "#rows", "since"), [("a", "1,024", "now"), ("漢字", "2", "")], 80) == [
        " table    rows   since",
        " ─────────────────────",
        " a       1,024   now",
        " 漢字        2",
    ]
    (header, _, row) = laid_out(TOTALS, [COUNTS], 1_000)
    assert (header.head.split(), row.rest.split()) == (" ".join(TOTALS).replace("#", "").split(), [*COUNTS])


def test_the_line_under_a_header_is_no_wider_than_a_screen():
    _, rule, row = shown(("check", "found"), [("a", "x" * 300)], 100_000)
    assert (rule, len(row)) == (" " + "─" * 150, 309)


def test_the_counts_of_a_run_fit_80_columns():
    assert shown(TOTALS, [COUNTS], 80) == [
        " pipeline  events  stored  dropped      dead-     rows  cells  seconds  events/s",
        "                                     lettered     sent",
        " ───────────────────────────────────────────────────────────────────────────────",
        " ticks         14      10        3          1       10     20      4.3       123",
    ]


def test_cells_are_broken_between_words_and_empty_columns_left_out():
    row = ("ports", "Kafka localhost:9092", "localhost:9092 does not accept connections", "")
    assert shown(CHECKS, [row], 60) == [
        " check  of                found",
        " ───────────────────────────────────────────────────────────",
        " ports  Kafka             localhost:9092 does not accept",
        "        localhost:9092    connections",
    ]


def test_rows_become_paragraphs_if_their_words_do_not_fit():
    row = ("001795253732167-0000000000:0", "…/first/ticks/tuesday.txt/0/45", "", "the pattern does not match")
    assert shown(("position", "event", "none", "message"), [row], 40) == [
        " 001795253732167-0000000000:0",
        "   event    …/first/ticks/tuesday.txt/0/45",  # a word stays whole beyond the width
        "   message  the pattern does not match",
    ]


@given(
    st.integers(2, 5).flatmap(
        lambda size: st.tuples(
            st.lists(WORDS.map("#".__add__) | WORDS, min_size=size, max_size=size),
            st.lists(st.lists(TEXTS, min_size=size, max_size=size), max_size=4),
        )
    ),
    st.integers(60, 120),
)
def test_every_word_is_whole_and_no_line_is_too_wide(table: tuple[list[str], list[list[str]]], width: int):
    columns, rows = table
    lines = shown(tuple(columns), [tuple(row) for row in rows], width)
    found = " ".join(lines).split()
    assert all(found.count(word) >= 1 for row in rows for text in row[1:] for word in text.split())
    # the name of a row is never broken
    most = max(width, *(cell_len(row[0]) + 1 for row in rows), cell_len(columns[0]) + 1)
    assert all(cell_len(line) <= most for line in lines)
