"""The pages of docs/reference as `make docs` writes them: their examples can be copied into a file."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from deploy.docs.generate import measured, pages
from ingest.api import Settings
from ingest.catalog import COMPONENT_TYPES, Catalog
from ingest.config import load
from ingest.reference.pages import page_of
from ingest.testing.events import files_of

CATALOG = Catalog(with_packages=False)
COMPONENTS = [(component_type, name) for component_type in COMPONENT_TYPES for name in CATALOG.names(component_type)]
FILE = """\
version: 1
secrets: {{exec: [echo]}}
registry: {{url: "http://localhost:8081"}}
stores:
  kept:
    {stores}
pipelines:
  p:
    source:
      {sources}
    decorators:
      {decorators}
    sinks:
      {sinks}
"""
USUAL = {
    "stores": "memory: {}",
    "sources": "kafka: {brokers: 'localhost:9092', topics: [t]}",
    "decorators": "[]",
    "sinks": "- attr2hbase: {table: t}",
}


@cache
def written() -> Mapping[str, str]:
    """File in docs/reference -> its text; each process that collects the tests would take seconds for them."""
    return dict(pages(measured()))


@pytest.mark.parametrize(("component_type", "name"), COMPONENTS)
def test_shown_examples_are_valid(component_type: str, name: str, tmp_path: Path) -> None:
    blocks = re.findall(r"^```yaml\n(.*?)\n```$", written()[f"{component_type}/{name}.md"], re.MULTILINE | re.DOTALL)
    component = CATALOG.load(component_type, name)
    examples = component.examples
    if component_type == "processors":  # `tests/conformance/test_processors.py` runs them
        assert len(blocks) == len(component.merge_examples)
        return
    assert len(blocks) == len(examples)
    file = tmp_path / "pipeline.yaml"
    with files_of(examples):
        for block in blocks:
            file.write_text(FILE.format(**USUAL | {component_type: block.replace("\n", "\n      ")}), "utf-8")
            load(file, env={}, lookup=CATALOG)


@pytest.mark.parametrize(("component_type", "name"), COMPONENTS)
def test_page_agrees_with_describe(component_type: str, name: str) -> None:
    page = page_of(CATALOG, component_type, name)
    about, _, rest = written()[f"{component_type}/{name}.md"].partition("\n## Options\n")
    options, _, examples = rest.partition("\n## Examples\n")
    assert about.startswith(f"# {name}\n\n{page.text}\n\nStability: {page.stability}.\n")
    assert re.findall(r"^\| `(.+?)` \|", options, re.MULTILINE) == [option.name for option in page.options]
    shown = [line for example in page.examples for line in (f"### {example.title}", *example.lines)]
    assert re.sub(r"^(```.*)?\n", "", examples, flags=re.MULTILINE).splitlines() == "\n".join(shown).splitlines()


@pytest.mark.parametrize(("component_type", "name"), COMPONENTS)
def test_page_has_no_section_of_arguments(component_type: str, name: str) -> None:
    assert "\nArgs:\n" not in written()[f"{component_type}/{name}.md"]


@pytest.mark.parametrize(
    ("component_type", "name"), [each for each in COMPONENTS if each[0] in {"decorators", "sinks"}]
)
def test_common_options_come_last(component_type: str, name: str) -> None:
    options = re.findall(r"^\| `(\w+)` \|", written()[f"{component_type}/{name}.md"], re.MULTILINE)
    assert options[-3:] == list(Settings.model_fields)
