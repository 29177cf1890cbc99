"""What `ingest validate` finds in a file, as the tests compare it."""

from collections.abc import Mapping
from pathlib import Path

from ingest.api import ConfigError
from ingest.catalog import Catalog
from ingest.config import load


def problems_of(path: Path, env: Mapping[str, str] | None = None) -> list[str]:
    """Every problem of a file, in order, without the file's path: `line:column: code: message`."""
    try:
        report = load(path, env=env or {}, lookup=Catalog()).report
    except ConfigError as error:
        report = error.report
    return [str(problem).removeprefix(f"{path}:") for problem in report.problems]
