"""Included files: mappings merge, lists are replaced, places are kept."""

import pytest

from ingest.api import ConfigError, NotFoundError
from ingest.catalog import Catalog
from ingest.config import load

ROOT = """\
version: 1
include: [parts/stores.yaml, "${PARTS}/pipelines.yaml"]
pipelines:
  ticks: {sinks: [{attr2hbase: {table: mine}}], on_error: drop}
"""
STORES = "stores: {logs: memory}\n"
PIPELINES = """\
version: 1
include: ../deeper.yaml
pipelines:
  ticks:
    source: {files: {path: x}}
    sinks: [{attr2hbase: {table: theirs}}, {attr2hbase: {table: others}}]
    on_error: stop
"""
DEEPER = "pipelines: {ticks: {description: deep, on_error: dead_letter}}\n"


@pytest.fixture
def files(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "root.yaml").write_text(ROOT)
    (tmp_path / "parts/stores.yaml").write_text(STORES)
    (tmp_path / "parts/pipelines.yaml").write_text(PIPELINES)
    (tmp_path / "deeper.yaml").write_text(DEEPER)
    return tmp_path


def loaded(folder):
    return load(folder / "root.yaml", env={"PARTS": "parts"}, lookup=Catalog())


def problems(folder):
    with pytest.raises(ConfigError) as caught:
        loaded(folder)
    return [str(problem).replace(f"{folder}/", "") for problem in caught.value.report.problems]


def test_including_file_overrides_and_mappings_merge(files):
    pipeline = loaded(files).pipelines["ticks"]
    assert [sink.settings.table.text for sink in pipeline.sinks] == ["mine"]
    assert (pipeline.on_error, pipeline.description, pipeline.source.kind) == ("drop", "deep", "files")


def test_every_value_has_the_place_in_its_file(files):
    found = loaded(files)
    assert {path[-1]: place.file.rpartition("/")[2] for path, place in found.origins.items() if len(path) == 3} == {
        "sinks": "root.yaml",
        "on_error": "root.yaml",
        "source": "pipelines.yaml",
        "description": "deeper.yaml",
    }


def test_problem_has_the_place_in_the_included_file(files):
    (files / "parts/pipelines.yaml").write_text(PIPELINES.replace("path: x", "paht: x"))
    assert problems(files) == [
        'parts/pipelines.yaml:5:14: missing-field: files needs "path"',
        'parts/pipelines.yaml:5:22: unknown-field: "paht" is not an option of files; did you mean "path"?',
    ]


def test_missing_included_file_is_the_only_problem(files):
    (files / "parts/stores.yaml").unlink()
    (found,) = problems(files)
    assert "unknown-reference: cannot read" in found


def test_file_that_includes_itself_is_rejected(files):
    (files / "deeper.yaml").write_text("include: parts/pipelines.yaml\n" + DEEPER)
    assert problems(files) == ['parts/../deeper.yaml:1:10: conflict: "parts/pipelines.yaml" includes itself']


def test_number_of_included_files_is_limited(files):
    (files / "parts/stores.yaml").write_text(f"include: [{', '.join(['many.yaml'] * 60)}]\n{STORES}")
    (files / "parts/many.yaml").write_text("")
    found = problems(files)
    assert found[0].endswith("too-large: more than 50 files are included")


def test_syntax_error_in_an_included_file(files):
    (files / "parts/stores.yaml").write_text("a: [")
    assert problems(files)[0].startswith("parts/stores.yaml:2:1: syntax:") or problems(files)[0].startswith(
        "parts/stores.yaml:1:5: syntax:"
    )


def test_invalid_path_of_an_included_file(files):
    (files / "loop.yaml").symlink_to("loop.yaml")
    (files / "root.yaml").write_text('include: ["a\\0b", loop.yaml]\n' + ROOT.replace("include", "# include"))
    null, loop = problems(files)[:2]
    assert null == 'root.yaml:1:11: unknown-reference: cannot read "a\\x00b": invalid path'
    # before 3.13 Python raises an error without the reason of the system
    assert loop.startswith('root.yaml:1:19: unknown-reference: cannot read "loop.yaml": ')
    assert loop.endswith(("invalid path", "Too many levels of symbolic links"))


def test_missing_root_file(tmp_path):
    with pytest.raises(NotFoundError) as caught:
        loaded(tmp_path)
    assert caught.value.exit_code == 3


class TestChains:
    """Chains in an included file, used by several pipelines."""

    ROOT = """\
include: chains.yaml
version: 1
stores: {m: {memory: {}}}
pipelines:
  a:
    source: {files: {path: x}}
    decorators: [{chain: clean}, {chain: keyed}]
    sinks: [{attr2hbase: {table: t}}]
  b:
    source: {files: {path: y}}
    decorators: [{chain: clean}, {chain: clean}]
    sinks: [{attr2hbase: {table: t}}]
"""
    CHAINS = """\
chains:
  clean:
    - filter: {drop: "%{body} == 'x'"}
  keyed:
    - chain: clean
    - value: {attribute: "2hb_", value: "%{key}"}
"""

    @pytest.fixture
    def problems_with(self, tmp_path):
        def problems_with(chains: str) -> list[str]:
            (tmp_path / "root.yaml").write_text(self.ROOT)
            (tmp_path / "chains.yaml").write_text(chains)
            return problems(tmp_path)

        return problems_with

    def test_are_expanded_where_they_are_used(self, tmp_path):
        (tmp_path / "root.yaml").write_text(self.ROOT)
        (tmp_path / "chains.yaml").write_text(self.CHAINS)
        pipelines = loaded(tmp_path).pipelines
        assert [(each.kind, each.chain) for each in pipelines["a"].decorators] == [
            ("filter", ("clean",)),
            ("filter", ("keyed", "clean")),
            ("value", ("keyed",)),
        ]
        assert [each.location.file.rpartition("/")[2] for each in pipelines["b"].decorators] == ["chains.yaml"] * 2

    @pytest.mark.parametrize(
        ("before", "after", "expected"),
        [
            ("drop", "dorp", ['3:16: unknown-field: "dorp" is not an option of filter; did you mean "drop"?']),
            ("'x'", "'x", ["3:34: bad-expression: the quote is never closed"]),
            ("%{key}", "%{lenght(key)}", ['6:44: bad-expression: unknown function "lenght"; did you mean "length"?']),
            ("filter", "fliter", ['3:7: unknown-component: there is no decorator "fliter"; did you mean "filter"?']),
            ("chain: clean", "chain: claen", ['5:14: unknown-reference: there is no chain "claen"; did you mean']),
            ("chain: clean", "chain: keyed", ['5:14: conflict: chain "keyed" uses itself']),
            ("'x'\"}", "'x'\", label: l}", ["3:47: duplicate-label: the label", "3:47: duplicate-label: the label"]),
            ("- chain: clean", "- chain: [", ["6:5: syntax:"]),
        ],
    )
    def test_problem_is_reported_once_in_the_included_file(self, problems_with, before, after, expected):
        found = problems_with(self.CHAINS.replace(before, after, 1))
        assert [line.startswith(f"chains.yaml:{start}") for line, start in zip(found, expected, strict=True)] == [
            True
        ] * len(expected), found
