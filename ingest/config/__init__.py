"""
YAML text to a checked, frozen description of pipelines; all problems at once, each with its place.

The way through the room: `reading` makes `nodes` of files (`scalars`, `variables`), `binder` checks them (`components`,
`pipelines`, `translate`, `options`, `test_cases`) into a `PartialConfig`, `checks` looks across options, `resolving`
makes the `model`; `problems` is what comes out instead. `ingest.reference` documents what can be written.
"""

from ingest.config.binder import bind, load
from ingest.config.components import Lookup
from ingest.config.model import Component, Configuration, Pipeline, Table, TestCase
from ingest.config.problems import Kind, Place, Problem, Report, Severity
from ingest.config.reading import Document, read, read_text

__all__ = [
    "Component",
    "Configuration",
    "Document",
    "Kind",
    "Lookup",
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
