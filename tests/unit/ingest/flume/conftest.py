"""Imports, and the effect of imported pipelines on events."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from ingest.catalog import Catalog
from ingest.config import Configuration, bind, read_text
from ingest.dry_run import DryRun
from ingest.flume import Imported, import_flume
from ingest.plan.assemble import plan_of

Line = Mapping[str, Any]


@pytest.fixture
def imported() -> Callable[..., Imported]:
    """Import a text."""

    def run(text: str, *, zone: str = "UTC") -> Imported:
        return import_flume(text, "old.conf", zone=zone, lookup=Catalog())

    return run


@pytest.fixture
def configuration(imported) -> Callable[..., Configuration]:
    """The imported file, bound."""

    def run(text: str, **options: str) -> Configuration:
        return bind(read_text(imported(text, **options).yaml, "new.yaml", {}), Catalog())

    return run


@pytest.fixture
def outcomes(configuration) -> Callable[..., list[Line]]:
    """The outcome of an event in each imported pipeline."""

    def run(text: str, event: Mapping[str, object], **options: str) -> list[Line]:
        bound = configuration(text, **options)
        return [
            output.line
            for pipeline in bound.pipelines.values()
            for output in DryRun(plan_of(bound, pipeline, Catalog())).run([event])
        ]

    return run


@pytest.fixture
def attributes(outcomes) -> Callable[..., object]:
    """Attributes of an event after decorators of a data-flow text, or the code of what failed."""

    def run(decorators: str, event: Mapping[str, object], **options: str) -> object:
        (line,) = outcomes(f'{decorators} attr2hbase("t")', event, **options)
        return line["error"]["code"] if line["error"] else line["event"]["attributes"]

    return run


@pytest.fixture
def cells(outcomes) -> Callable[..., object]:
    """Row and cells of an event, or why there are none."""

    def run(text: str, event: Mapping[str, object], **options: str) -> object:
        (line,) = outcomes(text, event, **options)
        if not line["puts"]:
            return line["reason"] or line["error"]["code"]
        (put,) = line["puts"]
        return put["row"], {f"{family}:{qualifier}": value for family, qualifier, value in put["cells"]}

    return run
