"""What `ingest validate` finds in a file, as the tests compare it."""

from collections.abc import Mapping
from pathlib import Path

from ingest.api import ConfigError
from ingest.catalog import Catalog
from ingest.config import load


def chain_file(*steps: str, sinks: str = "[{attr2hbase: {table: t}}]") -> str:
    """A pipeline file from Kafka through these steps; the first of them stands on line 7, in column 9."""
    head = (
        "version: 1\nstores: {m: {memory: {}}}\npipelines:\n  p:\n"
        '    source: {kafka: {brokers: "localhost:9092", topics: [t]}}\n    decorators:\n'
    )
    return head + "".join(f"      - {step}\n" for step in steps) + f"    sinks: {sinks}\n"


def problems_of(path: Path, env: Mapping[str, str] | None = None) -> list[str]:
    """Every problem of a file, in order, without the file's path: `line:column: code: message`."""
    try:
        report = load(path, env=env or {}, lookup=Catalog()).report
    except ConfigError as error:
        report = error.report
    return [str(problem).removeprefix(f"{path}:") for problem in report.problems]
