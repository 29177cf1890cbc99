"""The page of the `%{…}` language: its grammar, its conditions, its date letters, and the pages of its functions."""

import inspect
from collections.abc import Iterator

from ingest.expressions import CONDITION_EXAMPLES, DATE_DOCS, FUNCTIONS, grammar
from ingest.reference.pages import Page, ShownExample, function_page


def expressions_page() -> str:
    """The page, as Markdown; its examples run as tests."""
    language = inspect.cleandoc(grammar.__doc__ or "").partition("\n\n")[2].removeprefix("::\n\n")
    parts = ["# Expressions", "The grammar:", language]
    parts += [
        "## Conditions",
        "As `when:` and rules have them; all of these are run as tests, on an event of offset 7:",
    ]
    rows = [
        f"| {_code(each.written)} | {_given(each.attributes)} | {'yes' if each.holds else 'no'} | {each.says} |"
        for each in CONDITION_EXAMPLES
    ]
    parts.append("\n".join(["| written | where | holds | |", "|---|---|---|---|", *rows]))
    parts += ["## Date letters", "They write the event's timestamp, in the pipeline's `timezone`."]
    parts.append("\n".join(["| | |", "|---|---|", *(f"| `%{letter}` | {doc} |" for letter, doc in DATE_DOCS.items())]))
    parts += ["## Functions", "Each with examples that are run as tests:"]
    for function in FUNCTIONS.values():
        parts += _section(function_page(function))
    return "\n\n".join(parts) + "\n"


def _section(page: Page) -> Iterator[str]:
    signature, _, doc = page.text.partition("\n\n")
    yield f"## {page.name}"
    yield f"`{signature}`"
    yield doc
    if page.options:
        yield "\n".join(f"- `{each.name}`: {each.type}; {each.doc}" for each in page.options)
    yield "\n".join(["| written | where | |", "|---|---|---|", *map(_row, page.examples)])


def _row(example: ShownExample) -> str:
    *where, result = example.lines
    pairs = (line.partition(" is ") for line in where)
    given = ", ".join(f"{_code(name)} is {_code(value)}" for name, _, value in pairs)
    word, _, value = result.partition(" ")
    return f"| {_code(example.title)} | {given} | {word} {value if value == 'nothing' else _code(value)} |"


def _given(attributes: dict[str, str]) -> str:
    return ", ".join(f"`{name}` is {_code(value)}" for name, value in attributes.items())


def _code(text: str) -> str:
    """Text as it is, odd characters with escapes, as code in a table."""
    shown = text if text.isprintable() else repr(text)
    return f"`{shown}`".replace("|", "\\|") if shown else "nothing"
