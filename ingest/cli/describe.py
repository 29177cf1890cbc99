"""`attr2hbase describe`: components with their options and examples, and the meaning of errors."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from ingest.api import ConfigError
from ingest.catalog import SINGULAR
from ingest.cli import completion
from ingest.cli.output import Output
from ingest.expressions import FUNCTIONS
from ingest.reference.error_pages import ErrorPage, error_page, error_pages
from ingest.reference.expressions import expressions_page
from ingest.reference.options import ConfigurationSection, OptionRow, configuration_sections
from ingest.reference.pages import FUNCTIONS_TYPE, Page, function_page, pages, pages_named

_WIDTH = 120  # columns of a page that is not on a terminal


def describe(
    out: Output,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help='A component, a function, a key of the file such as "tables", "expressions" or "error"; or the type '
            'of a component, such as "store", before its name; default: a list of components.',
            autocompletion=completion.pages,
        ),
    ] = None,
    code: Annotated[
        str | None,
        typer.Argument(
            metavar="CODE",
            help='After "error": its code, as messages show it; after the type of a component: its name.',
            autocompletion=completion.second_words_of_page,
        ),
    ] = None,
) -> None:
    """
    List all decorators, sinks, stores, sources and processors, or show one with its options and examples, or explain
    an error.

    Functions of expressions have pages too; "expressions" shows the language and all functions. Keys of the file that
    are no components have pages: secrets, service, spark, tables, pipelines, dead_letters and tests.

    Example: attr2hbase describe split

    Example: attr2hbase describe row_key

    Example: attr2hbase describe store hbase

    Example: attr2hbase describe tables

    Example: attr2hbase describe expressions

    Example: attr2hbase describe error no_match
    """
    if name == "error":
        _error(out, code)
    elif name == "expressions" and code is None:
        _expressions(out)
    elif code is not None and name in SINGULAR.values():
        _pages(out, pages_named(code, singular=name))
    elif code is not None:
        hint = "write 'attr2hbase describe NAME', 'attr2hbase describe store NAME' or 'attr2hbase describe error CODE'"
        raise ConfigError(f'unexpected argument "{code}"', hint=hint)
    elif name is None:
        _list(out)
    else:
        _one(out, name)


def _list(out: Output) -> None:

    found = pages()
    for page in found:
        out.plain(_in_list(page))
    _table(out, [page for page in found if not page.is_for_imports])
    out.line()
    out.line("For imported Flume configurations:", "bold")
    _table(out, [page for page in found if page.is_for_imports])
    out.line()
    out.line("Functions of expressions, as in %{lower(host)}:", "bold")
    out.line(", ".join(sorted(FUNCTIONS)))
    out.next("attr2hbase describe NAME", "attr2hbase describe expressions", "attr2hbase describe error CODE")


def _table(out: Output, found: list[Page]) -> None:
    out.table(("", "name", "description"), [(page.singular, page.name, _summary(page)) for page in found])


def _summary(page: Page) -> str:
    if page.is_broken:
        return f"CANNOT BE USED: {page.summary}"
    return page.summary + (f" (from {page.provider})" if page.provider else "")


def _in_list(page: Page) -> dict[str, Any]:
    about: dict[str, Any] = {"provider": page.provider} if page.provider else {}
    about |= {"alias_of": page.alias_of} if page.alias_of else {}
    about |= {"for_imports": True} if page.is_for_imports else {}
    return {
        "type": page.component_type,
        "name": page.name,
        "error" if page.is_broken else "summary": page.summary,
    } | about


def _one(out: Output, name: str) -> None:

    sections = [section for section in configuration_sections() if section.key == name]
    if sections:
        _sections(out, sections)
        return
    _pages(out, pages_named(name))


def _pages(out: Output, found: list[Page]) -> None:
    for page in found:
        out.plain(_plain(page))
    for page in found:
        _show(out, page)
    out.next("attr2hbase describe")


def _sections(out: Output, sections: list[ConfigurationSection]) -> None:
    for section in sections:
        about = {"type": "configuration", "name": section.key, "title": section.title, "text": section.text}
        out.plain(about | {"options": _plain_options(section.options)})
    for section in sections:
        out.line(section.title.replace("`", ""), "bold")
        out.line(section.text)
        _options(out, "option", section.options)
        out.line()
    out.next("attr2hbase describe")


def _options(out: Output, word: str, options: Sequence[OptionRow]) -> None:
    rows = [(each.name, each.type, each.default, each.doc) for each in options]
    out.table((word, "type", "default", "description"), rows, width=_WIDTH)


def _plain_options(options: Sequence[OptionRow]) -> list[dict[str, Any]]:
    return [
        {"name": each.name, "type": each.type, "default": each.default, "doc": each.doc, "example": each.example}
        for each in options
    ]


def _expressions(out: Output) -> None:

    functions = [_plain(function_page(function)) for function in FUNCTIONS.values()]
    out.plain({"text": expressions_page(), "functions": functions})
    for line in expressions_page().splitlines():
        out.line(line)


def _show(out: Output, page: Page) -> None:

    out.parts((page.name, "bold"), (f"  {page.singular}, {page.stability}", "dim"))
    if page.provider:
        out.line(f"Provided by {page.provider}.", "dim")
    if page.alias_of:
        out.line(f"An alias of {page.alias_of}.", "dim")
    out.line()
    for line in page.text.splitlines():
        out.line(line)
    out.line()
    word = "parameter" if page.component_type == FUNCTIONS_TYPE else "option"
    if page.options:
        _options(out, word, page.options)
    else:
        out.line(f"It has no {word}s.")
    if page.cost is not None:
        out.line(f"Cost: about {page.cost}.", "dim")
    if page.examples and page.component_type == "decorators":
        out.line('In the examples, "after" lists only what differs from "before".', "dim")
    for example in page.examples:
        out.line()
        out.line(example.title, "cyan")
        for line in example.lines:
            out.line(f"  {line}")


def _plain(page: Page) -> dict[str, Any]:
    return {
        "type": page.component_type,
        "name": page.name,
        "stability": page.stability,
        "cost_ns": None if page.cost is None else page.cost.ns,
        "text": page.text,
        "provider": page.provider,
        "alias_of": page.alias_of,
        "options": _plain_options(page.options),
        "examples": [{"title": each.title, "lines": list(each.lines)} for each in page.examples],
    }


def _error(out: Output, code: str | None) -> None:

    if code is None:
        every = error_pages()
        if out.is_json:
            for each in every:
                out.json({"code": each.code, "meaning": _meaning(each)})
            return
        out.table(("code", "meaning"), [(page.code, _meaning(page)) for page in every])
        out.next("attr2hbase describe error CODE")
        return
    page = error_page(code)
    about = {"code": page.code, "meaning": _meaning(page), "reaction": page.reaction}
    out.plain(about | {"exit_code": page.exit_code, "remedy": page.remedy})
    out.line(page.code, "bold")
    if page.meaning:
        out.line(page.meaning)
    if page.reaction:
        out.line(page.reaction)
    if page.exit_code is not None:
        out.line(f"Exit code of a command that fails with it: {page.exit_code}.")
    drop, skip = page.reasons
    for heading, reason in (("reason of a drop", drop), ("reason for which a replay skips a dead letter", skip)):
        if reason:
            out.line(f"As the {heading}: {reason}")
    out.line(f"What to do: {page.remedy}")


def _meaning(page: ErrorPage) -> str:
    """Of the code; of the reason if it is no error code."""
    return page.meaning or next(filter(None, page.reasons))
