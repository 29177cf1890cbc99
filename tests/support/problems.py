"""The problems of `attr2hbase validate`, in a form to compare."""

from collections.abc import Mapping
from pathlib import Path

from ingest.api import ConfigError
from ingest.catalog import Catalog
from ingest.config import load


def chain_file(*decorators: str, sinks: str = "[{attr2hbase: {table: t}}]") -> str:
    """A pipeline file with these decorators; the first is on line 7, column 9."""
    head = (
        "version: 1\nstores: {m: {memory: {}}}\npipelines:\n  p:\n"
        '    source: {kafka: {brokers: "localhost:9092", topics: [t]}}\n    decorators:\n'
    )
    return head + "".join(f"      - {each}\n" for each in decorators) + f"    sinks: {sinks}\n"


def problems_of(path: Path, env: Mapping[str, str] | None = None) -> list[str]:
    """The problems of a file in order, without its path: `line:column: code: message`."""
    try:
        report = load(path, env=env or {}, lookup=Catalog()).report
    except ConfigError as error:
        report = error.report
    return [str(problem).removeprefix(f"{path}:") for problem in report.problems]
