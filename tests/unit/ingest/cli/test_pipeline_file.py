"""Which pipeline file a command reads: the named one, else that of the environment, else the one in this folder."""

import shlex
from pathlib import Path

import pytest

from ingest.cli.app import application

OF_A_FILE_ALONE = {
    *("run", "validate", "test", "explain", "graph", "submit", "doctor", "status", "reload"),
    *("table plan", "table apply", "config show", "config schema"),
}
OTHER = "version: 1\npipelines: {other: {source: {files: {path: in}}, sinks: [attr2hbase: {table: t}]}}\n"


@pytest.fixture
def other(pipeline: Path) -> Path:
    """Another file, beside `pipeline.yaml`; its pipeline is "other"."""
    (pipeline / "in").mkdir()
    file = pipeline / "other.yaml"
    file.write_text(OTHER + "stores: {s: {rocksdb: {path: ./rows}}}\n")
    return file


def shown_pipelines(ingest, *arguments: str) -> list[str]:
    result = ingest("config", "show", "--output", "json", *arguments)
    assert result.code == 0, result.err
    return [*result.json["pipelines"]]


def test_file_is_found_in_three_ways(ingest, other: Path, monkeypatch: pytest.MonkeyPatch):
    assert shown_pipelines(ingest) == ["ticks"]
    monkeypatch.setenv("ATTR2HBASE_FILE", "other.yaml")
    assert shown_pipelines(ingest) == ["other"]
    for named in (["-f", "pipeline.yaml"], ["--file", "pipeline.yaml"], ["pipeline.yaml"]):
        assert shown_pipelines(ingest, *named) == ["ticks"]
    assert ingest("-f", "pipeline.yaml", "config", "show").out.count("ticks:") == 1


def test_same_file_may_be_named_twice(ingest, other: Path):
    assert shown_pipelines(ingest, "other.yaml", "-f", "other.yaml") == ["other"]


@pytest.mark.parametrize(
    "words",
    [
        "validate other.yaml -f pipeline.yaml",
        "-f other.yaml validate pipeline.yaml",
        "doctor -f a b.yaml",
        "-f a admin -f b log-level error",
    ],
)
def test_two_files_are_refused(ingest, other: Path, words: str):
    result = ingest(*words.split())
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith('error[config]: two pipeline files: "')
    assert "hint: name one, with -f FILE or as the argument" in result.err


@pytest.mark.parametrize(
    "words", ["doctor", "doctor hbase --heap 16GiB", "config schema", "validate", "scan ticks", "admin log-level error"]
)
def test_file_is_named_before_between_or_after_the_words(ingest, folder: Path, words: str):
    first, *others = words.split()
    named = ["-f", "absent.yaml"]
    for given in ([*named, first, *others], [first, *named, *others], [first, *others, *named]):
        result = ingest(*given)
        assert (result.code, result.out) == (3, ""), given
        assert result.err.startswith('error[not_found]: cannot read "absent.yaml"'), given


def test_output_options_are_before_between_or_after_the_words(ingest, pipeline: Path):
    option, words = ["--output", "json"], ["config", "show"]
    results = [ingest(*words[:place], *option, *words[place:]) for place in range(3)]
    assert [[*result.json["pipelines"]] for result in results] == [["ticks"]] * 3


def test_schema_has_the_plugins_of_a_named_file_alone(ingest, folder: Path):
    (folder / "pipeline.yaml").write_text("version: 1\nplugins: [no_such_plugin]\npipelines: {}\n")
    assert ingest("config", "schema").code == 0
    for words in (["config", "-f", "pipeline.yaml", "schema"], ["-f", "pipeline.yaml", "config", "schema"]):
        assert 'there is no module "no_such_plugin"' in ingest(*words).err


@pytest.mark.parametrize("words", ["get plays u-381", "validate", "status", "validate missing.yaml"])
def test_error_of_a_missing_file_has_the_three_ways(ingest, folder: Path, words: str):
    result = ingest(*words.split())
    assert (result.code, result.out) == (3, "")
    assert result.err.splitlines()[1] == (
        "  hint: the file is named by -f FILE, else by ATTR2HBASE_FILE=FILE, else it is pipeline.yaml in the current "
        "folder; 'attr2hbase init' writes one"
    )


@pytest.mark.parametrize(
    ("words", "command", "corrected"),
    [
        ("get shop.yaml plays 'u 381'", "get", "attr2hbase get -f shop.yaml plays 'u 381'"),
        ("dead-letters list shop.yml --all", "dead-letters list", "attr2hbase dead-letters list -f shop.yml --all"),
        ("pause pipeline.yaml ticks", "pause", "attr2hbase pause ticks"),
        ("compact shop.yaml", "compact", "attr2hbase compact -f shop.yaml"),
    ],
)
def test_file_in_its_former_place(ingest, folder: Path, words: str, command: str, corrected: str):
    given = shlex.split(words)
    result = ingest(*given)
    file = next(word for word in given if ".y" in word)
    assert (result.code, result.err.splitlines()) == (
        2,
        [
            f'error[config]: the pipeline file of "{command}" is an option, not the argument "{file}"',
            f"  hint: write it as in '{corrected}'",
        ],
    )


def test_suggested_commands_name_a_file_that_is_not_found_without_it(
    ingest, other: Path, monkeypatch: pytest.MonkeyPatch
):
    assert "next: attr2hbase validate\n" in ingest("config", "show", "pipeline.yaml").err
    assert "next: attr2hbase validate -f other.yaml\n" in ingest("config", "show", "other.yaml").err
    monkeypatch.setenv("ATTR2HBASE_FILE", "other.yaml")
    assert "next: attr2hbase validate\n" in ingest("config", "show").err
    assert "next: attr2hbase validate -f pipeline.yaml\n" in ingest("config", "show", "pipeline.yaml").err


def test_file_is_an_argument_of_commands_about_a_file_alone():
    takes = {
        words
        for words, command in application().every()
        if any("--file" in each.opts for each in command.params)
        and any("FILE" in (each.metavar or "") for each in command.params if each.param_type_name == "argument")
    }
    assert takes == OF_A_FILE_ALONE
