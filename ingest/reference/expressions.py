"""The reference page of the expression language: grammar, conditions, date letters and functions."""

import inspect
from collections.abc import Iterable, Iterator

from ingest.expressions import (
    ARITHMETIC_EXAMPLES,
    CONDITION_EXAMPLES,
    DATE_DOCS,
    FUNCTIONS,
    arithmetic,
    grammar,
    pattern,
)
from ingest.reference.pages import Page, ShownExample, example_of_function, function_page


def expressions_page() -> str:
    """The page, as Markdown."""
    language = inspect.cleandoc(grammar.__doc__ or "").partition("\n\n")[2].removeprefix("::\n\n")
    parts = ["# Expressions", "The grammar:", language]
    parts += [
        "## Conditions",
        "For `when:` and rules. The event of these examples has offset 7 and priority DEBUG:",
    ]
    rows = [
        f"| {_code(each.written)} | {_given(each.attributes)} | {'yes' if each.holds else 'no'} | {each.says} |"
        for each in CONDITION_EXAMPLES
    ]
    parts.append("\n".join(["| condition | attributes | true | |", "|---|---|---|---|", *rows]))
    parts += ["## Arithmetic", inspect.cleandoc(arithmetic.__doc__ or "").partition("\n\n")[2]]
    parts.append(_table(map(example_of_function, ARITHMETIC_EXAMPLES)))
    parts += ["## Patterns", inspect.cleandoc(pattern.__doc__ or "").partition("\n\n")[2]]
    parts += ["## Date letters", "They format the event's timestamp, in the pipeline's `timezone`."]
    parts.append("\n".join(["| | |", "|---|---|", *(f"| `%{letter}` | {doc} |" for letter, doc in DATE_DOCS.items())]))
    parts += ["## Functions", "All functions, with examples:"]
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
    yield _table(page.examples)


def _table(examples: Iterable[ShownExample]) -> str:
    return "\n".join(["| example | attributes | |", "|---|---|---|", *map(_row, examples)])


def _row(example: ShownExample) -> str:
    *where, result = example.lines
    pairs = (line.partition(" is ") for line in where)
    given = ", ".join(f"{_code(name)} is {_code(value)}" for name, _, value in pairs)
    word, _, value = result.partition(" ")
    return f"| {_code(example.title)} | {given} | {word} {value if value == 'nothing' else _code(value)} |"


def _given(attributes: dict[str, str]) -> str:
    return ", ".join(f"`{name}` is {_code(value)}" for name, value in attributes.items())


def _code(text: str) -> str:
    """Text as code in a table, with unprintable characters escaped."""
    shown = text if text.isprintable() else repr(text)
    return f"`{shown}`".replace("|", "\\|") if shown else "nothing"
