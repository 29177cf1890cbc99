"""Imports a Flume configuration: translates it, checks the resulting pipeline file, and reports the outcome."""

from collections.abc import Mapping, Sequence

from ingest.api import ConfigError, ConfigInvalidError
from ingest.config import Kind, Lookup, Place, Problem, Severity, bind, read_text
from ingest.config.components import NOT_IMPORTED
from ingest.config.nodes import MappingNode, Node, NodePath, SequenceNode, locations
from ingest.flume.escapes import literal
from ingest.flume.ng.agents import Agents
from ingest.flume.ng.properties import is_properties, properties_of
from ingest.flume.og.dataflow import DataFlow
from ingest.flume.og.parser import parse
from ingest.flume.og.tree import File, Sink
from ingest.flume.original import Original
from ingest.flume.pipelines.document import Component, Document, Origin, Pipeline, Rendered, render
from ingest.flume.pipelines.report import Entry, Imported, Outcome
from ingest.flume.pipelines.stores import FIRST_STORE, hbase_store

_UTC = "UTC"
_GIVEN = "`timezone` is the time zone of Flume's machines."
_ASSUMED = {
    True: "No time zone was given: set `timezone` to the zone of Flume's machines if it is not UTC.",
    False: "No time zone was given, and nothing here depends on one: `timezone` is UTC.",
}


def tree_of(text: str, file: str) -> Sink | File:
    """
    The syntax tree of a data-flow text.

    Raises:
        ConfigSyntaxError: it does not follow the grammar.
    """
    tree, _ = parse(Original(file, text))
    return tree


def import_flume(text: str, file: str, *, zone: str | None, lookup: Lookup) -> Imported:
    """
    Translate a data-flow text of Flume 0.9 or a properties file of Flume 1.

    Args:
        text: the whole file.
        file: its name, for messages.
        zone: time zone of Flume's machines; None for UTC, with a warning if something depends on it.
        lookup: finds the options of components.

    Raises:
        ConfigSyntaxError: it cannot be read.
        ConfigInvalidError: a part of it cannot be translated; the report has all problems.
    """
    original = Original(file, text)
    if is_properties(text):
        agents = Agents(original, properties_of(original), zone or _UTC)
        pipelines, entries = agents.pipelines(), agents.entries
        chains: Mapping[str, Sequence[Component]] = {}
        tables = agents.tables
        stores = agents.stores or {FIRST_STORE: hbase_store()}
    else:
        flow = DataFlow(original, *parse(original), zone or _UTC)
        pipelines, entries, chains = flow.pipelines(), flow.entries, flow.chains
        tables = {}
        stores = {FIRST_STORE: hbase_store()}
    if zone is None and original.zoned:
        message = "this depends on the time zone of Flume's machines, and none was given: UTC is assumed"
        original.warning(
            min(original.zoned), message, "add --timezone Europe/Berlin, or --timezone UTC if that is correct"
        )
    if not pipelines or not is_properties(text):
        _raise_errors(original)  # otherwise after the check of the pipelines, which may find more
    of_zone = _ASSUMED[bool(original.zoned)] if zone is None else _GIVEN
    document = Document(pipelines, stores, _head(pipelines, file, of_zone), chains, tables)
    rendered = render(document)
    _check(rendered, original, lookup)
    entries = sorted(dict.fromkeys([*entries, *_by_hand(document, original)]), key=lambda entry: entry.place)
    report = original.report()
    return Imported(rendered.text, tuple(entries), report.warnings, report)


def _head(pipelines: Sequence[Pipeline], file: str, of_zone: str) -> list[str]:
    head = [
        f"Imported by `attr2hbase import-flume` from {file}.",
        "Comments show what was replaced or left out.",
        of_zone,
    ]
    if any("attributes" in pipeline.options for pipeline in pipelines):
        head += [
            "Like Flume, these pipelines do not replace attributes (`existing`), and reject bodies over 32 KiB",
            "(`max_event_bytes`). The record headers host, priority and nanos set the fields of the event.",
        ]
    return head


def _by_hand(document: Document, original: Original) -> list[Entry]:
    """The parts that could not be translated; adds a warning for each."""
    components = [part for chain in document.chains.values() for part in chain]
    components += [part for pipeline in document.pipelines for part in (*pipeline.decorators, *pipeline.sinks)]
    found = [
        Entry(Outcome.BY_HAND, part.place, str(part.options["class"]), part.kind, str(part.options["instead"]))
        for part in components
        if part.kind == NOT_IMPORTED and part.place
    ]
    for entry in dict.fromkeys(found):
        message = f'"{entry.original}" is not imported: `attr2hbase validate` rejects the pipeline until it is replaced'
        original.problems.append(Problem(Kind.NOT_IMPORTED, entry.place, message, entry.why, Severity.WARNING))
    return found


def _raise_errors(original: Original) -> None:
    errors = [problem for problem in original.problems if problem.severity is Severity.ERROR]
    if errors:
        count = f"{len(errors)} problem{'' if len(errors) == 1 else 's'}"
        raise ConfigInvalidError(f"{count} in {original.file}; {min(errors, key=_place)}", report=original.report())


def _check(rendered: Rendered, original: Original, lookup: Lookup) -> None:
    """Bind the pipeline file, and report its problems at the places in the original."""
    document = read_text(rendered.text, "the pipeline", {})
    try:
        problems = bind(document, lookup).report.problems
    except ConfigError as error:
        problems = getattr(error.report, "problems", ())
        if not problems:
            _raise_errors(original)
            raise
    with_errors = {problem.location.line for problem in original.problems if problem.severity is Severity.ERROR}
    values = locations(document.root)
    for problem in problems:
        option = _option(rendered, _path(document.root, problem.location))
        inside = {place for path, place in values.items() if option and path[: len(option)] == option}
        if problem.kind is Kind.UNDEFINED_VARIABLE or inside & document.unknown:
            continue  # it is set where the pipeline runs
        if problem.kind is Kind.NOT_IMPORTED:
            continue  # already in the report
        origin = rendered.origins[option] if option else _of_line(rendered, problem.location.line, original)
        if with_errors and (problem.severity is not Severity.ERROR or origin.place.line in with_errors):
            continue  # may be a consequence of that error
        message = problem.message.replace(f'"{literal(origin.text)}"', f'"{origin.text}"')
        original.problems.append(Problem(problem.kind, origin.place, message, problem.hint, problem.severity))
    _raise_errors(original)


def _path(node: Node, location: Place) -> NodePath:
    """The path of the innermost value whose text, with its key, contains a place."""
    match node:
        case MappingNode():
            parts: list[tuple[Place, str | int, Node]]
            parts = [(node.keys[key], key, child) for key, child in node.entries.items()]
        case SequenceNode():
            parts = [(child.place, number, child) for number, child in enumerate(node.items)]
        case _:
            return ()
    before = [part for part in parts if (part[0].line, part[0].column) <= (location.line, location.column)]
    if not before:
        return ()
    _, key, child = before[-1]
    return (key, *_path(child, location))


def _option(rendered: Rendered, path: NodePath) -> NodePath:
    """The longest prefix of a path that has an origin; empty if there is none."""
    return next((path[:length] for length in range(len(path), 0, -1) if path[:length] in rendered.origins), ())


def _of_line(rendered: Rendered, line: int, original: Original) -> Origin:
    known = [place for place in rendered.locations[:line] if place is not None]
    return Origin(known[-1] if known else original.place(0))


def _place(problem: Problem) -> Place:
    return problem.location
