"""
YAML text to a checked, frozen description of pipelines; all problems at once, each with its place.

The way through the room: `reading` makes `nodes` of files (`scalars`, `variables`), `binder` checks them (`components`,
`pipelines`, `translate`, `options`, `cases`) into a `draft`, `checks` looks across options, `resolving` makes the
`model`; `problems` is what comes out instead. `schema` and `pages` tell editors and people what can be written.
"""

from ingest.config.binder import bind, load
from ingest.config.components import Lookup
from ingest.config.model import Component, Configuration, Pipeline, Table, TestCase
from ingest.config.problems import Kind, Masks, Place, Problem, Report, Severity
from ingest.config.reading import Document, read, read_text

__all__ = [
    "Component",
    "Configuration",
    "Document",
    "Kind",
    "Lookup",
    "Masks",
    "Pipeline",
    "Place",
    "Problem",
    "Report",
    "Severity",
    "Table",
    "TestCase",
    "bind",
    "load",
    "read",
    "read_text",
]
