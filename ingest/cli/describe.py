"""`ingest describe`: every component with its options and examples, and what errors mean."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ingest.cli.output import Output

if TYPE_CHECKING:
    from ingest.cli.pages import Page

_WIDTH = 120  # columns of a page that goes into a file or a pager


def describe(
    out: Output,
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help='A component, a function, or "error"; left out: a list of components.'),
    ] = None,
    code: Annotated[
        str | None, typer.Argument(metavar="CODE", help='After "error": its code, as messages show it.')
    ] = None,
) -> None:
    """
    Show every decorator, sink, store and source, or one with its options and examples, or what an error means.

    The functions of templates have pages as well, and no place in the list.

    Example: ingest describe split

    Example: ingest describe bucket

    Example: ingest describe error no_match
    """
    from ingest.api import ConfigError

    if name == "error":
        _error(out, code)
    elif code is not None:
        raise ConfigError(
            f'"{code}" does not belong there', hint="write 'ingest describe NAME' or 'ingest describe error CODE'"
        )
    elif name is None:
        _list(out)
    else:
        _one(out, name)


def _list(out: Output) -> None:
    from ingest.cli.pages import pages

    found = pages()
    if out.is_json:
        out.json([_in_list(page) for page in found])
        return
    out.table(("", "name", "what it does"), [(page.singular, page.name, _summary(page)) for page in found])
    out.next("ingest describe NAME", "ingest describe error CODE")


def _summary(page: "Page") -> str:
    if page.is_broken:
        return f"CAN NOT BE USED: {page.summary}"
    return page.summary + (f" (of {page.provider})" if page.provider else "")


def _in_list(page: "Page") -> dict[str, str]:
    about = {"provider": page.provider} if page.provider else {}
    return {"room": page.room, "name": page.name, "error" if page.is_broken else "summary": page.summary} | about


def _one(out: Output, name: str) -> None:
    from ingest.cli.pages import pages_named

    found = pages_named(name)
    if out.is_json:
        out.json([_plain(page) for page in found])
        return
    for page in found:
        _show(out, page)
    out.next("ingest describe")


def _show(out: Output, page: "Page") -> None:
    from ingest.cli.pages import FUNCTION_ROOM

    out.parts((page.name, "bold"), (f"  {page.singular}, {page.stability}", "dim"))
    if page.provider:
        out.line(f"Of {page.provider}.", "dim")
    out.line()
    for line in page.text.splitlines():
        out.line(line)
    out.line()
    word = "parameter" if page.room == FUNCTION_ROOM else "option"
    if page.options:
        rows = [(each.name, each.type, each.default, each.doc) for each in page.options]
        out.table((word, "type", "default", "what it says"), rows, width=_WIDTH)
    else:
        out.line(f"It has no {word}s.")
    if page.cost is not None:
        out.line(f"It takes about {page.cost}.", "dim")
    for example in page.examples:
        out.line()
        out.line(example.title, "cyan")
        for line in example.lines:
            out.line(f"  {line}")


def _plain(page: "Page") -> dict[str, Any]:
    return {
        "room": page.room,
        "name": page.name,
        "stability": page.stability,
        "cost_ns": None if page.cost is None else page.cost.ns,
        "text": page.text,
        "provider": page.provider,
        "options": [
            {"name": each.name, "type": each.type, "default": each.default, "doc": each.doc, "example": each.example}
            for each in page.options
        ],
        "examples": [{"title": each.title, "lines": list(each.lines)} for each in page.examples],
    }


def _error(out: Output, code: str | None) -> None:
    from ingest.cli.error_pages import error_page, error_pages

    if code is None:
        every = error_pages()
        if out.is_json:
            out.json([{"code": page.code, "meaning": page.meaning} for page in every])
            return
        out.table(("code", "what it means"), [(page.code, page.meaning) for page in every])
        out.next("ingest describe error CODE")
        return
    page = error_page(code)
    if out.is_json:
        out.json({"code": page.code, "meaning": page.meaning, "reaction": page.reaction, "exit_code": page.exit_code})
        return
    out.line(page.code, "bold")
    out.line(page.meaning)
    if page.reaction:
        out.line(page.reaction)
    if page.exit_code is not None:
        out.line(f"A command that ends with it exits with {page.exit_code}.")
