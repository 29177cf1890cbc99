"""
Reads YAML files into a checked, immutable `Configuration`, or reports all problems at once, each with its location.

1. `reading` parses files into `nodes`, with included files merged and variables expanded (`scalars`, `variables`).
2. `binder` checks nodes against the options of components and collects the valid parts in a `PartialConfig`
   (`components`, `pipelines`, `translate`, `options`, `test_cases`).
3. `checks` applies the rules that span several options.
4. `resolving` fills in omitted names and returns the `model`.

Each stage adds to the same list of `problems`. `ingest.reference` documents the options.
"""

from ingest.config.binder import bind, load, load_plugins, load_service
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
    "load_plugins",
    "load_service",
    "read",
    "read_text",
]
