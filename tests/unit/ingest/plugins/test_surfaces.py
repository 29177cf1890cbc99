"""What users see of a table feature is read from its folder, without the feature."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingest.cli.word_group import group_of
from ingest.plugins.surfaces import at, metrics_of, surfaces_of
from ingest.service.job_kinds import KINDS, SCHEDULED
from sinks import BUILTIN_FEATURES

SURFACE = """
from ingest.api.feature_surface import FeatureSurface, FunctionWord, GroupWord

SURFACE = FeatureSurface(
    commands={
        "Use": {"counted": GroupWord("Counts.", {"show": FunctionWord("Show one.", "counted_kit.commands:show")})}
    },
    metrics="counted_kit.metrics:METRICS",
)
"""
COMMANDS = '''
from ingest.cli.output import Output


def show(out: Output) -> None:
    """Show one."""
    out.line("one")
'''
METRICS = """
from ingest.api.metric import Kind, Metric, Scope

METRICS = (Metric("attr2hbase_writes_total", Kind.COUNTER, "writes", "Writes.", scope=Scope.TABLE),)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    package = tmp_path / "counted_kit"
    package.mkdir()
    for name, text in (("__init__", SURFACE), ("commands", COMMANDS), ("metrics", METRICS)):
        (package / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    yield package
    for name in [name for name in sys.modules if name.startswith("counted_kit")]:
        del sys.modules[name]


def test_surface_of_a_feature_that_cannot_be_imported(folder: Path) -> None:
    (surface,) = surfaces_of(["counted_kit.feature:Counted"])
    assert [metric.name for metric in metrics_of([surface])] == ["attr2hbase_writes_total"]
    group = group_of("attr2hbase", "All.", lambda: None).fill(surface.commands)
    assert [(words, command.help) for words, command in group.every()] == [("counted show", "Show one.")]


def test_a_folder_without_a_surface_has_none(folder: Path) -> None:
    (folder / "__init__.py").write_text("")
    assert surfaces_of(["counted_kit.feature:Counted"])[0] == ({}, {}, (), "", {})


def test_built_in_jobs_and_watches_exist() -> None:
    surfaces = surfaces_of(BUILTIN_FEATURES)
    jobs = {kind: at(path) for surface in surfaces for kind, path in surface.jobs.items()}
    assert jobs.items() <= KINDS.items()
    assert {job.kind for job in SCHEDULED} == {"compaction", "blob-sweep", "dump"}
    assert [at(path).__name__ for surface in surfaces for path in surface.watches] == ["FeedWatch"]
