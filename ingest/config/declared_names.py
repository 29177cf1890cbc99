"""
The names that a file has, read without its components: nothing that the file names is imported, run or waited for.

A shell completes names of a file that the user has only begun to name, and may not trust.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from ingest.config.model import unique_names
from ingest.config.nodes import MappingNode, Node, SequenceNode, text_under
from ingest.config.reading import read

ARCHIVE = "archive"
"""The sink whose table is in files."""
_TEMPLATE = "%{"


class DeclaredNames(NamedTuple):
    """
    The names of a file, each once, in its order.

    Attributes:
        tables: that it declares, or that its sinks name.
        archived_tables: of the sinks `archive`.
        pipelines: that it declares.
    """

    tables: tuple[str, ...]
    archived_tables: tuple[str, ...]
    pipelines: tuple[str, ...]


def declared_names(path: str | Path, env: Mapping[str, str]) -> DeclaredNames:
    """
    The names of a file, which may have errors; one that cannot be parsed has none.

    Args:
        path: a regular file.
        env: the values of `${VAR}`.

    Raises:
        NotFoundError: it is no regular file, or cannot be read.
    """
    document = read(path, env, is_inert=True)
    pipelines = _entries(document.root, "pipelines")
    tables, archived = dict.fromkeys(_entries(document.root, "tables")), dict[str, None]()
    for kind, options in (sink for pipeline in pipelines.values() for sink in _sinks(pipeline)):
        table = text_under(options, "table")
        if table is not None and table.place not in document.unknown and _TEMPLATE not in table.text:
            (archived if kind == ARCHIVE else tables)[table.text] = None
    return DeclaredNames(tuple(tables), tuple(archived), tuple(pipelines))


def declared_sinks(path: str | Path, env: Mapping[str, str]) -> list[str]:
    """The names of the sinks of a file, as `ingest.config.model.names_of`; arguments and errors of `declared_names`."""
    document = read(path, env, is_inert=True)
    found: dict[str, None] = {}
    for pipeline in _entries(document.root, "pipelines").values():
        labels = [(kind, text_under(options, "label")) for kind, options in _sinks(pipeline)]
        names = unique_names([(kind, None if label is None else label.text) for kind, label in labels])
        known = (label is None or label.place not in document.unknown for _, label in labels)
        found.update(dict.fromkeys(name for name, is_known in zip(names, known, strict=True) if is_known))
    return [*found]


def _entries(node: Node, key: str) -> Mapping[str, Node]:
    child = node.entries.get(key) if isinstance(node, MappingNode) else None
    return child.entries if isinstance(child, MappingNode) else {}


def _sinks(pipeline: Node) -> Iterator[tuple[str, Node]]:
    """The kind and the options of each sink."""
    sinks = pipeline.entries.get("sinks") if isinstance(pipeline, MappingNode) else None
    for each in sinks.items if isinstance(sinks, SequenceNode) else ():
        if isinstance(each, MappingNode):
            yield from each.entries.items()
