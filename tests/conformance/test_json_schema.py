"""The JSON Schema is valid, and accepts what a pipeline file may say."""

import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from ingest.catalog import Catalog
from ingest.plugins.loader import Plugin
from ingest.reference.schema import json_schema


class Loader(yaml.SafeLoader):
    """Reads a date as text, as YAML 1.2 does."""


Loader.yaml_implicit_resolvers = {
    first: [each for each in resolvers if each[0] != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "deploy" / "examples"
SOURCES = {"attr2hbase_geohash": EXAMPLES / "plugin" / "src", "attr2hbase_parquet": EXAMPLES / "parquet-sink" / "src"}
CATALOG = Catalog(with_packages=False)
FOLDERS = ("deploy", "ingest", "tests/golden")
PIPELINE_FILE = re.compile(r"^(version|pipelines):", re.MULTILINE)
FILES = sorted(
    path
    for path in itertools.chain.from_iterable((ROOT / folder).rglob("*.yaml") for folder in FOLDERS)
    if "helm" not in path.parts  # templates, which are no YAML
    and PIPELINE_FILE.search(path.read_text("utf-8"))
)
COMPONENTS = [
    (component_type, name)
    for component_type in ("decorators", "sinks", "sources", "stores")
    for name in CATALOG.names(component_type)
]

Problems = Callable[[object], list[str]]


@pytest.fixture(scope="module")
def schema() -> Iterator[dict[str, Any]]:
    """The schema with the components of the example plugins."""
    with pytest.MonkeyPatch.context() as patch:
        for folder in SOURCES.values():
            patch.syspath_prepend(folder)
        plugins = [Plugin(module, folder) for module, folder in SOURCES.items()]
        yield json_schema(Catalog(plugins, with_packages=False))


@pytest.fixture
def problems_of(schema: dict[str, Any]) -> Problems:
    """What the schema refuses, with its path."""
    found = Draft202012Validator(schema).iter_errors
    return lambda value: [f"{list(error.absolute_path)}: {error.message}" for error in found(value)]


def read(text: str) -> object:
    """The value of a YAML text."""
    return yaml.load(text, Loader)  # noqa: S506 - a safe loader


def file_with(decorator: object) -> dict[str, Any]:
    """A pipeline file with this decorator."""
    sinks = [{"attr2hbase": {"table": "t"}}]
    source = {"kafka": {"brokers": "k:9092", "topics": ["t"]}}
    return {"version": 1, "pipelines": {"p": {"source": source, "decorators": [decorator], "sinks": sinks}}}


def test_schema_is_valid(schema: dict[str, Any]) -> None:
    Draft202012Validator.check_schema(schema)


def test_files_of_the_repository_are_found() -> None:
    assert {path.name for path in FILES} >= {"pipeline.yaml", "parse.yaml", "files.yaml", "hbase.yaml"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_file_of_the_repository_is_accepted(path: Path, problems_of: Problems) -> None:
    assert problems_of(read(path.read_text("utf-8"))) == []


@pytest.mark.parametrize(("component_type", "name"), COMPONENTS)
def test_every_example_of_a_component_is_accepted(component_type: str, name: str, schema: dict[str, Any]) -> None:
    of_type = Draft202012Validator({"$defs": schema["$defs"], "$ref": f"#/$defs/any_{component_type}"})
    for example in CATALOG.load(component_type, name).examples:
        assert [error.message for error in of_type.iter_errors({name: read(example.settings)})] == []


@pytest.mark.parametrize(
    "decorator",
    [
        {"timestamp": {"formats": "iso8601"}},
        {"timestamp": {"formats": ["iso8601", "apache"]}},
        {"regex": {"pattern": r"(\d+)", "index": "${INDEX}", "attribute": "a"}},
        {"rename": {"pattern": "^x_", "replacement": "${PREFIX}"}},
        "gunzip",
        {"chain": "keys"},
        {"gunzip": None},
    ],
)
def test_forms_of_a_decorator_are_accepted(decorator: object, problems_of: Problems) -> None:
    assert problems_of(file_with(decorator)) == []


@pytest.mark.parametrize(
    "decorator",
    [
        {"regex": {"patern": "x"}},
        {"regex": {"pattern": 5}},
        {"timestamp": {"formats": [5]}},
        {"split": {"separator": ":", "index": "first", "attribute": "a"}},
        {"splitt": {}},
        {"split": {}, "gunzip": {}},
    ],
)
def test_mistakes_are_refused(decorator: object, problems_of: Problems) -> None:
    assert problems_of(file_with(decorator)) != []


def test_brokers_client_options_and_ports_have_all_their_forms(problems_of: Problems) -> None:
    kafka = {"brokers": ["k1:9092", "k2:9092"], "topics": ["t"], "options": {"fetch.min.bytes": 1}}
    pipeline = {"source": {"kafka": kafka}, "sinks": [{"attr2hbase": {"table": "t"}}]}
    assert problems_of({"version": 1, "service": {"http": {"listen": 9464}}, "pipelines": {"p": pipeline}}) == []
