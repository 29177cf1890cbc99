"""An old configuration in, a pipeline file and a report out; what was made is checked before anybody sees it."""

from collections.abc import Mapping, Sequence

from ingest.api import ConfigError, ConfigInvalidError
from ingest.config import Kind, Lookup, Place, Problem, Severity, bind, read_text
from ingest.config.components import NOT_IMPORTED
from ingest.config.nodes import Mapping as Tree
from ingest.config.nodes import Node, Path, locations
from ingest.config.nodes import Sequence as List
from ingest.flume.escapes import literal
from ingest.flume.ng.agents import Agents
from ingest.flume.ng.properties import is_properties, properties_of
from ingest.flume.og.dataflow import DataFlow
from ingest.flume.og.parser import parse
from ingest.flume.og.tree import File, Sink
from ingest.flume.original import Original
from ingest.flume.pipelines.document import Component, Document, Origin, Pipeline, Written, written
from ingest.flume.pipelines.report import Entry, Imported, Outcome
from ingest.flume.pipelines.stores import FIRST_STORE, hbase_store

_UTC = "UTC"
_GIVEN = "`timezone` is that of the old machines."
_ASSUMED = {
    True: "No time zone was given: write that of the old machines as `timezone`, where it was not UTC.",
    False: "No time zone was given, and nothing here depends on one: `timezone` is UTC.",
}


def tree_of(text: str, file: str) -> Sink | File:
    """
    What a data-flow text says, as a tree.

    Raises:
        ConfigSyntaxError: it does not follow the grammar.
    """
    tree, _ = parse(Original(file, text))
    return tree


def import_flume(text: str, file: str, *, zone: str | None, lookup: Lookup) -> Imported:
    """
    Translate a data-flow text of Flume 0.9 or a properties file of Flume 1.

    Args:
        text: the whole of it.
        file: as messages name it.
        zone: time zone of the old nodes; None for UTC, with a warning where something depends on it.
        lookup: who knows the options of components.

    Raises:
        ConfigSyntaxError: it cannot be read.
        ConfigInvalidError: something in it has no counterpart; all problems are in the report.
    """
    original = Original(file, text)
    if is_properties(text):
        agents = Agents(original, properties_of(original), zone or _UTC)
        pipelines, entries = agents.pipelines(), agents.entries
        chains: Mapping[str, Sequence[Component]] = {}
        stores = agents.stores or {FIRST_STORE: hbase_store()}
    else:
        flow = DataFlow(original, *parse(original), zone or _UTC)
        pipelines, entries, chains = flow.pipelines(), flow.entries, flow.chains
        stores = {FIRST_STORE: hbase_store()}
    if zone is None and original.zoned:
        message = "what this does depends on the time zone of the old machines, and none was given: UTC is assumed"
        original.warning(
            min(original.zoned), message, "say --timezone Europe/Berlin, or --timezone UTC where that is right"
        )
    if not pipelines or not is_properties(text):
        _refuse(original)  # else what the rest of the file is made into is looked at first
    said = _ASSUMED[bool(original.zoned)] if zone is None else _GIVEN
    document = Document(pipelines, stores, _head(pipelines, file, said), chains)
    _check(written(document), original, lookup)
    entries = sorted(dict.fromkeys([*entries, *_by_hand(document, original)]), key=lambda entry: entry.place)
    report = original.report()
    return Imported(written(document).text, tuple(entries), report.warnings, report)


def _head(pipelines: Sequence[Pipeline], file: str, of_zone: str) -> list[str]:
    head = [
        f"Imported from Flume by `ingest import-flume`, out of {file}.",
        "Comments say what was replaced or left out where it stood.",
        of_zone,
    ]
    if any("attributes" in pipeline.options for pipeline in pipelines):
        head += [
            "Flume set an attribute once, and took no body over 32 KiB: so do these pipelines (`existing`,",
            "`max_event_bytes`). Headers of a record named host, priority and nanos are those of Flume's event.",
        ]
    return head


def _by_hand(document: Document, original: Original) -> list[Entry]:
    """What could not be translated, each with a warning."""
    components = [part for chain in document.chains.values() for part in chain]
    components += [part for pipeline in document.pipelines for part in (*pipeline.steps, *pipeline.sinks)]
    found = [
        Entry(Outcome.BY_HAND, part.place, str(part.options["class"]), part.kind, str(part.options["instead"]))
        for part in components
        if part.kind == NOT_IMPORTED and part.place
    ]
    for entry in dict.fromkeys(found):
        message = f'"{entry.original}" is not imported: `ingest validate` refuses the pipeline until it is replaced'
        original.problems.append(Problem(Kind.NOT_IMPORTED, entry.place, message, entry.why, Severity.WARNING))
    return found


def _refuse(original: Original) -> None:
    errors = [problem for problem in original.problems if problem.severity is Severity.ERROR]
    if errors:
        count = f"{len(errors)} problem{'' if len(errors) == 1 else 's'}"
        raise ConfigInvalidError(f"{count} in {original.file}; {min(errors, key=_place)}", report=original.report())


def _check(made: Written, original: Original, lookup: Lookup) -> None:
    """Bind the file; what is wrong with it is reported where the original says so."""
    document = read_text(made.text, "the pipeline", {})
    try:
        problems = bind(document, lookup).report.problems
    except ConfigError as error:
        problems = getattr(error.report, "problems", ())
        if not problems:
            _refuse(original)
            raise
    told = {problem.location.line for problem in original.problems if problem.severity is Severity.ERROR}
    values = locations(document.root)
    for problem in problems:
        option = _option(made, _path(document.root, problem.location))
        inside = {place for path, place in values.items() if option and path[: len(option)] == option}
        if problem.kind is Kind.UNDEFINED_VARIABLE or inside & document.unknown:
            continue  # it is set only where the pipeline runs
        if problem.kind is Kind.NOT_IMPORTED:
            continue  # the report names it
        origin = made.origins[option] if option else _of_line(made, problem.location.line, original)
        if told and (problem.severity is not Severity.ERROR or origin.place.line in told):
            continue  # it may come of what is reported there
        message = problem.message.replace(f'"{literal(origin.text)}"', f'"{origin.text}"')
        original.problems.append(Problem(problem.kind, origin.place, message, problem.hint, problem.severity))
    _refuse(original)


def _path(node: Node, location: Place) -> Path:
    """The innermost value that a place is in, its key included."""
    match node:
        case Tree():
            parts: list[tuple[Place, str | int, Node]]
            parts = [(node.keys[key], key, child) for key, child in node.entries.items()]
        case List():
            parts = [(child.place, number, child) for number, child in enumerate(node.items)]
        case _:
            return ()
    before = [part for part in parts if (part[0].line, part[0].column) <= (location.line, location.column)]
    if not before:
        return ()
    _, step, child = before[-1]
    return (step, *_path(child, location))


def _option(made: Written, path: Path) -> Path:
    """The innermost value around one that has an origin of its own; empty when there is none."""
    return next((path[:length] for length in range(len(path), 0, -1) if path[:length] in made.origins), ())


def _of_line(made: Written, line: int, original: Original) -> Origin:
    known = [place for place in made.locations[:line] if place is not None]
    return Origin(known[-1] if known else original.place(0))


def _place(problem: Problem) -> Place:
    return problem.location
