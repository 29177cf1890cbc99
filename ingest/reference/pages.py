"""Pages of components, for `describe` and the reference, from docstrings, options and examples."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import orjson

from ingest.api import CatalogError, Example, Model, NotFoundError, Processor, ProcessorExample, Settings
from ingest.api.notation import to_notation
from ingest.api.schemas import SchemaType
from ingest.catalog import COMPONENT_TYPES, SINGULAR, Catalog
from ingest.config.problems import listed
from ingest.expressions import FUNCTIONS, Function, FunctionExample, quoted
from ingest.expressions.functions import OURS
from ingest.reference.error_pages import error_pages
from ingest.reference.options import OptionRow, configuration_sections, option_rows
from ingest.reference.readable import readable
from ingest.suggest import DISTRIBUTE, SALTING, did_you_mean_ours

FUNCTIONS_TYPE = "functions"
_MAX_OWNERS = 5
"""Components that a hint names; some options, such as `label`, are those of very many."""
_IN_LISTS = ("decorators", "sinks")
_WIDTH = 110  # columns; a longer event is shown on several lines


@dataclass(frozen=True, slots=True)
class ShownExample:
    """
    An example of a component.

    Attributes:
        lines: the YAML, an event before, and the differences after; for a function its result.
    """

    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cost:
    """
    The measured cost of an event in a decorator.

    Attributes:
        ns: nanoseconds, in the slowest of its examples.
        machine: processor, Python version and date of the measurement.
    """

    ns: int
    machine: str

    def __str__(self) -> str:
        time = f"{self.ns} ns" if self.ns < 1_000 else f"{self.ns / 1_000:.1f} µs"  # noqa: PLR2004 - ns in a µs
        return f"{time} an event ({self.machine})"


@dataclass(frozen=True, slots=True)
class Page:
    """
    The documentation of a component.

    Attributes:
        component_type: decorators, sinks, stores, sources or processors; functions, for a function of expressions.
        text: the docstring; its first paragraph is the summary. For a plugin that cannot be used, the error.
        provider: the package and its version that provides it; "" if it is built in.
        is_broken: whether it cannot be used.
        alias_of: the component that it is an alias of, with other options or defaults; "" if it is no alias.
        is_for_imports: whether it exists only for imported configurations.
        cost: None for all but decorators that have been measured.
    """

    component_type: str
    name: str
    stability: str
    text: str
    options: tuple[OptionRow, ...]
    examples: tuple[ShownExample, ...]
    provider: str = ""
    is_broken: bool = False
    alias_of: str = ""
    is_for_imports: bool = False
    cost: Cost | None = None

    @property
    def singular(self) -> str:
        """The name of its type, in the singular."""
        return "function of expressions" if self.component_type == FUNCTIONS_TYPE else SINGULAR[self.component_type]

    @property
    def summary(self) -> str:
        """The first sentence."""
        return " ".join(self.text.partition("\n\n")[0].split())


def pages(catalog: Catalog | None = None) -> list[Page]:
    """A page for every component, sorted by type and name; for a plugin that cannot be used, one with the error."""
    catalog = catalog or Catalog()
    return [
        _page(catalog, component_type, name)
        for component_type in COMPONENT_TYPES
        for name in catalog.names(component_type)
    ]


def _page(catalog: Catalog, component_type: str, name: str) -> Page:
    try:
        return page_of(catalog, component_type, name)
    except CatalogError as error:
        return Page(component_type, name, "", str(error), (), (), is_broken=True)


def pages_named(name: str, catalog: Catalog | None = None, *, singular: str | None = None) -> list[Page]:
    """
    The pages of all components and functions with a name; components of different types may have the same one.

    Args:
        name: of the components.
        catalog: of the components; by default the installed ones.
        singular: the type of the component, as "store"; by default any, and functions too.

    Raises:
        NotFoundError: there is none of this name.
    """
    catalog = catalog or Catalog()
    if singular is not None:
        component_type = next(each for each, word in SINGULAR.items() if word == singular)
        if name not in (known := catalog.names(component_type)):
            hint = did_you_mean_ours(name, known) or f"there is {listed(known, len(known))}"
            raise NotFoundError(f'there is no {singular} "{name}"', hint=hint)
        return [page_of(catalog, component_type, name)]
    found = [
        page_of(catalog, component_type, name)
        for component_type in COMPONENT_TYPES
        if name in catalog.names(component_type)
    ]
    if name in FUNCTIONS:
        found.append(function_page(FUNCTIONS[name]))
    if not found:
        every = [*FUNCTIONS, *(known for component_type in COMPONENT_TYPES for known in catalog.names(component_type))]
        hint = DISTRIBUTE if name in SALTING else _key_of(name) or _code_of(name) or _owners_of(name, catalog)
        hint = hint or did_you_mean_ours(name, every, OURS) or "'attr2hbase describe' lists them"
        raise NotFoundError(f'there is no component "{name}"', hint=hint)
    return found


def _key_of(name: str) -> str:
    """A hint to the options of the file that have this name, or are of a key with almost this name; else ""."""
    sections = configuration_sections()
    keys = [section.key for section in sections]
    found = [section.key for section in sections if name in {option.name for option in section.options}]
    key = next(iter(found), None) or next((key for key in keys if name == key.removesuffix("s")), None)
    return "" if key is None else f"'attr2hbase describe {key}' shows the options of `{key}` in the file"


def _owners_of(option: str, catalog: Catalog) -> str:
    """A hint to the components that have an option, also inside another one; else ""."""
    owners = [
        f"{page.singular} {page.name}"
        for page in pages(catalog)
        if not page.is_for_imports
        and not page.alias_of
        and option in {row.name.rpartition(".")[2] for row in page.options}
    ]
    if not owners:
        return ""
    more = len(owners) - _MAX_OWNERS
    others = [*owners[:_MAX_OWNERS], *([f"{more} more"] if more > 0 else [])]
    return f"it is an option of {', '.join(others)}; 'attr2hbase describe {owners[0]}' shows it"


def _code_of(name: str) -> str:
    """A hint to the error with this code; else ""."""
    return (
        f"'attr2hbase describe error {name}' explains the error"
        if name in {page.code for page in error_pages()}
        else ""
    )


def page_of(catalog: Catalog, component_type: str, name: str, costs: Mapping[str, Any] | None = None) -> Page:
    """
    The page of a component.

    Args:
        catalog: the catalog of components.
        component_type: type of the component.
        name: name of the component.
        costs: measured costs of decorators; by default those in the package.

    Raises:
        CatalogError: it cannot be used.
    """
    component = catalog.load(component_type, name)
    settings = catalog.settings(component_type, name)
    return Page(
        component_type=component_type,
        name=name,
        stability=component.stability.value,
        text=_text(component),
        options=tuple(sorted(option_rows(settings), key=_rank(settings))),
        examples=_examples(component_type, name, component),
        provider=catalog.entry(component_type, name).provider,
        alias_of=catalog.alias_of(component_type, name),
        is_for_imports=catalog.is_for_imports(component_type, name),
        cost=cost_in(costs or _costs(), name) if component_type == "decorators" else None,
    )


def function_page(function: Function) -> Page:
    """The page of a function of expressions; its parameters are the options."""
    rows = [
        OptionRow(
            each.name,
            each.kind.value + (f": {', '.join(each.choices)}" if each.choices else ""),
            "required" if each.required else _default(each.default),
            each.doc,
            "",
        )
        for each in function.parameters
    ]
    examples = [example_of_function(each) for each in function.examples]
    text = f"%{{{function.signature}}}\n\n{function.doc}"
    return Page(FUNCTIONS_TYPE, function.name, "stable", text, tuple(rows), tuple(examples))


def example_of_function(example: FunctionExample) -> ShownExample:
    """An example of expressions, with its attributes and its result."""
    return ShownExample(
        example.template,
        (
            *(f"{name} is {value}" for name, value in example.attributes.items()),
            f"fails: {example.error}" if example.error else f"gives {_result(example.result)}",
        ),
    )


def _default(value: object) -> str:
    """The default of a parameter, as an expression writes it."""
    if value is None:
        return "none"
    return quoted(value.decode()) if isinstance(value, bytes) else str(value)


def _result(value: str | bytes) -> str:
    return readable(_bytes(value)) or "nothing"


def _bytes(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else value.encode()


def cost_in(costs: Mapping[str, Any], decorator: str) -> Cost | None:
    """The cost of a decorator; None if it has not been measured."""
    ns = costs["ns"].get(decorator)
    return None if ns is None else Cost(ns, costs["machine"])


@cache
def _costs() -> dict[str, Any]:
    content: dict[str, Any] = orjson.loads(files("ingest.reference").joinpath("costs.json").read_bytes())
    return content


def _rank(settings: type[Model]) -> Callable[[OptionRow], int]:
    """The component's own and required options first, then inherited ones, then those of every decorator."""
    own = settings.__annotations__

    def rank(row: OptionRow) -> int:
        name = row.name.partition(".")[0]
        if name in Settings.model_fields:
            return 2
        return int(name not in own and not settings.model_fields[name].is_required())

    return rank


def _text(component: type) -> str:
    """The docstring without its section of arguments."""
    text = inspect.getdoc(component) or ""
    return text.partition("\nArgs:\n")[0].rstrip()


def _examples(component_type: str, name: str, component: type[Any]) -> tuple[ShownExample, ...]:
    if issubclass(component, Processor):
        return tuple(shown_merge_example(name, example) for example in component.merge_examples)
    return tuple(shown_example(component_type, name, example) for example in component.examples)


def shown_merge_example(name: str, example: ProcessorExample) -> ShownExample:
    """The lines of an example of a processor: its configuration, the values, and what a read returns."""
    lines = [f"{name}: {example.settings}"]
    for word, values in (("values", example.values), ("refused", example.refused), ("read", (example.merged,))):
        for number, value in enumerate(values):
            lines.append(f"{'' if number else word:<8}{readable(_bytes(value)) or '(empty)'}")
    return ShownExample(example.title, tuple(lines))


def shown_example(component_type: str, name: str, example: Example) -> ShownExample:
    """The lines of an example: its configuration, files, and the event before and after."""
    lines = [f"{'- ' if component_type in _IN_LISTS else ''}{name}: {example.settings}"]
    for file, content in example.files.items():
        shown = orjson.dumps(content).decode() if isinstance(content, str) else f"{len(content)} bytes"
        lines.append(f"file    {file}: {shown}")
    for schema in example.schemas:
        text = (
            schema.content.decode() if schema.type is SchemaType.AVRO else f"{schema.type}, {len(schema.content)} bytes"
        )
        lines.append(f"schema  {schema.id}: {text}")
    given = example.given()
    if "body" in given:
        given["body"] = _plain(example.body)
    if "attributes" in given:
        given["attributes"] = {key: _plain(value) for key, value in example.attributes.items()}
    if "earlier" in given:
        given["earlier"] = [_plain(body) for body in example.earlier]
    if given:
        lines += _event("before", given)
    lines += _after(example) or (["after   the same"] if component_type == "decorators" else [])
    return ShownExample(example.title, tuple(lines))


def _after(example: Example) -> list[str]:
    """The differences after the decorator; empty if the event is unchanged."""
    if example.dropped or example.made == ():
        return ["after   dropped"]
    if example.error is not None:
        return [f"after   fails with {example.error}"]
    if example.made is not None:
        made = (
            {"body": _plain(body)} | ({"attributes": attributes} if attributes else {})
            for body, attributes in example.made
        )
        return [line for each in made for line in _event("after", each)]
    changed = {name: _plain(value) for name, value in example.after.items() if value is not None}
    gone = [name for name, value in example.after.items() if value is None]
    after: dict[str, object] = {"attributes": changed} if changed else {}
    if example.body_after is not None:
        after["body"] = _plain(example.body_after)
    if example.timestamp_ms_after is not None:
        after["timestamp_ms"] = example.timestamp_ms_after
    return (_event("after", after) if after else []) + ([f"gone    {', '.join(gone)}"] if gone else [])


def _event(word: str, parts: Mapping[str, object]) -> list[str]:
    """An event as JSON, on one line if it fits."""
    line = f"{word:<8}{orjson.dumps(parts).decode()}"
    if len(line) <= _WIDTH:
        return [line]
    first, *others = orjson.dumps(parts, option=orjson.OPT_INDENT_2).decode().split("\n")
    return [f"{word:<8}{first}", *(f"{'':<8}{other}" for other in others)]


def _plain(body: str | bytes) -> object:
    return body if isinstance(body, str) else to_notation(body)
