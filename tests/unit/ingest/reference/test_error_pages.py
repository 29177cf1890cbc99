"""Pages of error codes: one for each code that is declared, which is each code that is raised, and none for others."""

import ast
import importlib
import re
from functools import cache
from pathlib import Path

import pytest

import decorators
import ingest as product
import sinks
from ingest import api
from ingest.api import Disposition, EventError, IngestError
from ingest.api.event_errors import RowKeyTooLongError
from ingest.config import Kind
from ingest.dead_letters.replay_batches import SkipReason
from ingest.reference import declarations as reference
from ingest.reference.declarations import declarations
from ingest.reference.error_pages import FIRST, error_page, error_pages, errors_page

ROOT = Path(product.__file__).parents[1]


@cache
def trees():
    """File -> its syntax tree, of all product files."""
    files = [file for package in (product, decorators, sinks) for file in Path(package.__file__).parent.rglob("*.py")]
    return {file: ast.parse(file.read_text()) for file in files}


@cache
def nodes():
    """The nodes of the syntax trees of all product files."""
    return [node for tree in trees().values() for node in ast.walk(tree)]


@cache
def classes():
    """Class of an error -> code; those that declare a code, imported."""
    found = {}
    for file, tree in trees().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and node.name.endswith("Error") and "code" in assigned(node):
                module = importlib.import_module(".".join(file.relative_to(ROOT).with_suffix("").parts))
                error = getattr(module, node.name)
                found[error] = error.code
    return found


def assigned(node):
    """The names that the body of a class assigns."""
    return {
        getattr(target, "id", "")
        for line in node.body
        for target in (line.targets if isinstance(line, ast.Assign) else [getattr(line, "target", None)])
    }


def codes_given():
    """What is given as `code=` in calls."""
    return [
        keyword.value
        for node in nodes()
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if keyword.arg == "code"
    ]


def words(node):
    """The texts that an expression may be."""
    match node:
        case ast.Constant(value=str(text)) if text:
            yield text
        case ast.IfExp(body=body, orelse=orelse):
            yield from (*words(body), *words(orelse))


def known(error=IngestError):
    """Name -> class of an error of the contract, and of others that have been imported."""
    found = {error.__name__: error}
    for child in error.__subclasses__():
        found |= known(child)
    return found


def codes_of_errors():
    """Codes that have a page, without the kinds of problems of a configuration."""
    return {page.code for page in error_pages() if page.disposition is not None}


def test_every_code_that_is_raised_is_declared():
    """An error is raised by its class, or by another one with the `code` of it; never with a text of its own."""
    texts = {text for value in codes_given() for text in words(value)}
    assert texts == set()


def test_every_code_that_is_declared_is_raised():
    names = {getattr(node, "id", getattr(node, "attr", "")) for node in nodes()}
    unused = {error.__name__ for error in classes()} - names
    assert unused - {"IngestError"} == set()


def test_every_reason_that_is_declared_is_used():
    given = [
        node.targets[0].id
        for tree in trees().values()
        for node in tree.body
        if isinstance(node, ast.Assign) and re.search("(drop|blocked)_reason\\(", ast.unparse(node.value))
    ]
    loaded = {node.id for node in nodes() if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    assert len(given) >= 6
    assert set(given) - loaded == set()


def test_pages_are_those_of_the_imported_classes():
    """What is read from the source is what Python makes of it, with inherited attributes."""
    declared = {each.code: each for each in declarations() if not each.of}
    assert declared.keys() == set(classes().values())
    for error, code in classes().items():
        found = declared[code]
        exit_code = None if issubclass(error, EventError) else error.exit_code
        assert (found.disposition, found.exit_code) == (error.disposition, exit_code), code
        said = next(vars(each) for each in error.__mro__ if vars(each).get("remedy") or vars(each).get("hint"))
        hint = str(said.get("hint"))
        assert found.remedy == said.get(
            "remedy", re.sub("'(attr2hbase .*?)'", r"`\1`", hint[:1].upper() + hint[1:]) + "."
        ), code
        assert found.dropped == error.__dict__.get("dropped", ""), code


def test_hint_of_a_class_is_its_remedy_and_ends_its_messages():
    assert str(RowKeyTooLongError("x")) == "x; shorten the row key, for example with a hash of the long part"
    assert str(RowKeyTooLongError("x", hint="y")) == "x; y"
    assert error_page("row_key_too_long").remedy == "Shorten the row key, for example with a hash of the long part."
    assert error_page("shard_not_found").remedy == "`attr2hbase feed describe` lists the shards."


def test_members_of_enumerations_are_declared():
    for kind in (Kind, SkipReason):
        declared = [(each.code, each.meaning, each.remedy) for each in declarations() if each.of == kind.__name__]
        assert declared == [(member.value, member.meaning, member.remedy) for member in kind]


def test_code_that_is_declared_twice_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(reference, "_ROOT", tmp_path)
    (tmp_path / "ingest").mkdir()
    base = "class IngestError(Exception):\n"
    base += "    code = 'error'\n    remedy = ''\n    exit_code = 1\n    disposition = D.STOP\n"
    (tmp_path / "ingest" / "a.py").write_text(base + "class OneError(IngestError):\n    code = 'one'\n")
    assert [each.code for each in declarations()] == ["error", "one"]
    (tmp_path / "ingest" / "b.py").write_text("class OtherError(IngestError):\n    code = 'one'\n")
    with pytest.raises(ValueError, match=r"declared twice: .*one"):
        declarations()


def test_code_is_unique():
    errors = {each.code for each in known().values()} | codes_of_errors()
    assert errors & {kind.value for kind in Kind} == set()


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("too_large", ["max_event_bytes", "gunzip", "max_size"]),
        ("too_many_parts", ["max_events", "131,072"]),
        ("not_a_number", ["function", "cell", "grok"]),
        ("record_too_large", ["max.message.bytes"]),
    ],
)
def test_page_covers_all_causes(code, said):
    assert [word for word in said if word not in error_page(code).meaning] == []


def test_every_page_has_a_meaning_and_a_remedy():
    assert [page.code for page in error_pages() if not (page.meaning or any(page.reasons))] == []
    assert [page.code for page in error_pages() if not page.remedy.endswith(".")] == []
    assert [page.code for page in error_pages() if re.search(r"\s\s|^\s|\s$", page.meaning + page.remedy)] == []
    assert f"| {error_page('no_match').remedy} |\n" in errors_page()


@cache
def drop_reasons():
    """The reasons of drops in the code: of decorators, of sinks, of the decoder and of tasks."""
    return set(_drop_reasons())


def _drop_reasons():
    codes = {error.__name__: code for error, code in classes().items()}
    for node in nodes():
        match node:
            case ast.Call(func=ast.Name("drop_reason"), args=[ast.Constant(code), *_]):
                yield code
            case ast.Return(value=ast.Attribute(value=ast.Name(name), attr="code")) if name in codes:
                yield codes[name]  # of `drop_reason` of a decorator, a writer and a decoder
            case ast.Call(func=ast.Name("Skipped"), args=[ast.Attribute(value=ast.Name(name), attr="code")]):
                yield codes[name]


def test_every_reason_of_a_drop_has_a_page():
    assert {code for code in drop_reasons() if not error_page(code).reasons[0]} == set()
    assert drop_reasons() == {page.code for page in error_pages() if page.reasons[0]}
    assert error_page("filter").reasons[0] == 'The decorator "filter" has dropped the event.'


def test_no_reason_of_a_drop_is_a_text_of_its_own():
    found = []
    for node in nodes():
        match node:
            case ast.FunctionDef(name="drop_reason", decorator_list=[_]):
                found += [each.value for each in ast.walk(node) if isinstance(each, ast.Return)]
            case ast.Subscript(value=ast.Attribute(attr="dropped"), slice=index):
                found.append(index)
    assert len(found) > 8
    assert [ast.unparse(node) for node in found if isinstance(node, ast.Constant)] == []


def test_reason_of_a_blocked_pipeline_has_no_exit_code():
    for code in ("batch_slow", "start_slow"):
        assert (error_page(code).disposition, error_page(code).exit_code) == (Disposition.RETRY, None)


def test_errors_of_events_have_no_exit_code():
    of_events = {each.code for each in known(EventError).values() if each.__module__ == api.EventError.__module__}
    assert {code for code in of_events if error_page(code).exit_code is not None} == set()


def test_page_has_each_code_once_and_the_forty_that_are_met_first_on_top():
    running = errors_page().partition("## While running")[2].partition("## Reasons of drops")[0]
    shown = re.findall(r"^\| `(\w+)` \|", running, re.MULTILINE)
    assert tuple(shown[:40]) == FIRST
    assert sorted(shown) == [page.code for page in error_pages() if page.disposition is not None]


@pytest.mark.parametrize(
    ("code", "area"),
    [
        ("bad_cef", "Events"),
        ("record_too_large", "Kafka, files and schemas"),
        ("store_busy", "Stores and tables"),
        ("dump_corrupt", "Dumps and copies"),
        ("lease_lost", "State and files"),
        ("lifecycle", "Pipelines, commands and plugins"),
    ],
)
def test_area_of_a_code_is_that_of_its_file_but_events_have_one_of_their_own(code, area):
    assert next(page.area for page in error_pages() if page.code == code) == area
