"""Pages of error codes: one for each code that is raised, and none for others."""

import ast
from functools import cache
from pathlib import Path

import pytest

import decorators
import ingest as product
import sinks
from ingest import api
from ingest.api import Disposition, EventError, IngestError
from ingest.config import Kind
from ingest.dead_letters.replay_batches import SkipReason
from ingest.reference import error_pages as pages
from ingest.reference import remedies
from ingest.reference.error_pages import error_page, error_pages, errors_page
from ingest.reference.reasons import DROPS, REMEDIES_OF_REASONS, SKIPS
from sinks.archive.rerun_sink import OTHER_PARTITION
from sinks.writing.mutator import UNKNOWN_FAMILY


@cache
def nodes():
    """The nodes of the syntax trees of all product files except the pages."""
    written = (pages.__file__, remedies.__file__)
    files = [file for package in (product, decorators, sinks) for file in Path(package.__file__).parent.rglob("*.py")]
    return [node for file in files if str(file) not in written for node in ast.walk(ast.parse(file.read_text()))]


@cache
def raised():
    """Code, and name of the class that is raised with it, or is an error of it."""
    return list(_raised())


def _raised():
    for node in nodes():
        if isinstance(node, ast.Call):
            for keyword in node.keywords:
                if keyword.arg == "code":
                    made = node.args[0] if ast.unparse(node.func) == "partial" else node.func
                    yield from ((code, ast.unparse(made)) for code in words(keyword.value))
        if isinstance(node, ast.ClassDef) and node.name.endswith("Error"):
            for line in node.body:
                if isinstance(line, ast.Assign) and line.targets[0].id == "code":
                    yield from ((code, node.name) for code in words(line.value))


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


def test_every_code_that_is_raised_has_a_page():
    codes = {code for code, _ in raised()}
    assert {code for code in codes if not error_page(code).meaning} == set()


def test_every_page_has_a_code_that_is_used():
    given = {code for code, _ in raised()}
    others = {"batch_slow", "start_slow", IngestError.code}  # of blocked pipelines and the root
    said = {node.value for node in nodes() if isinstance(node, ast.Constant)}
    assert (codes_of_errors() - given, others - said) == (others, set())


def test_disposition_of_a_page_is_that_of_its_error():
    classes = known()
    wrong = []
    for code, name in raised():
        error = classes.get(name.rpartition(".")[2])
        if error is not None:
            page = error_page(code)
            if page.disposition != error.disposition or page.exit_code not in (None, error.exit_code):
                wrong.append((code, name))
    assert wrong == []


def test_most_raised_errors_are_found():
    assert sum(name.rpartition(".")[2] in known() for _, name in raised()) > 100


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


def test_every_page_has_a_remedy():
    of_reasons = REMEDIES_OF_REASONS.keys()
    assert {page.code for page in error_pages()} - of_reasons == remedies.REMEDIES.keys()
    assert of_reasons == (DROPS.keys() | SKIPS.keys()) - remedies.REMEDIES.keys()
    assert [page.code for page in error_pages() if not page.remedy.endswith(".")] == []
    assert f"| {error_page('no_match').remedy} |\n" in errors_page()


@cache
def drop_reasons():
    """The reasons of drops in the code: of decorators, of sinks, of the decoder and of tasks."""
    return set(_drop_reasons())


def _drop_reasons():
    for node in nodes():
        match node:
            case ast.FunctionDef(name="drop_reason"):
                yield from (
                    word for each in ast.walk(node) if isinstance(each, ast.Return) for word in words(each.value)
                )
            case ast.Call(func=ast.Name("Skipped"), args=[argument]):
                yield from (word for word in words(argument) if " " not in word)
            case ast.Subscript(value=ast.Attribute(attr="dropped"), slice=index):
                yield from words(index)
            case ast.Assign(targets=[ast.Name("skipped")], value=value):
                yield from words(value)
    yield from (OTHER_PARTITION, UNKNOWN_FAMILY)
    yield "tombstone"  # `Decoder.decode` returns it


def test_every_reason_of_a_drop_has_a_page():
    assert {code for code in drop_reasons() if not error_page(code).reasons[0]} == set()
    assert drop_reasons() == DROPS.keys()
    assert error_page("filter").reasons[0] == 'The decorator "filter" has dropped the event.'


def test_every_reason_of_a_skip_has_a_page():
    assert {reason.value for reason in SkipReason} == SKIPS.keys()


def test_reason_of_a_blocked_pipeline_has_no_exit_code():
    for code in ("batch_slow", "start_slow"):
        assert (error_page(code).disposition, error_page(code).exit_code) == (Disposition.RETRY, None)


def test_errors_of_events_have_no_exit_code():
    of_events = {each.code for each in known(EventError).values() if each.__module__ == api.EventError.__module__}
    assert {code for code in of_events if error_page(code).exit_code is not None} == set()
