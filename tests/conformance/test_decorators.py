"""Every built-in decorator keeps the contract, and stands where its name says."""

import inspect
from importlib import import_module

import pytest

from decorators import ALIASES, BUILTIN, FOR_IMPORTS
from ingest.testing.decorators import DecoratorContract


def load(path):
    module, name = path.split(":")
    return getattr(import_module(module), name)


class TestBuiltIn(DecoratorContract):
    @pytest.fixture(params=BUILTIN)
    def kind_of_decorator(self, request):
        return load(BUILTIN[request.param])

    def test_another_process_gives_the_same(self):
        """All of them in one process each, with functions and sinks: test_deterministic."""

    def test_it_says_where_it_comes_from(self, kind_of_decorator):
        doc = inspect.getdoc(kind_of_decorator)
        assert doc.splitlines()[0].endswith(".")
        assert "Source:" in doc


@pytest.mark.parametrize("name", BUILTIN)
def test_the_file_is_named_as_in_yaml(name):
    file = ALIASES.get(name, name)
    assert (load(BUILTIN[name]).kind, BUILTIN[name].split(":")[0]) == (name, f"decorators.{file}")


@pytest.mark.parametrize(("name", "decorator"), ALIASES.items())
def test_an_alias_has_the_code_of_its_decorator(name, decorator):
    assert load(BUILTIN[name]).decorate is load(BUILTIN[decorator]).decorate


def test_what_is_for_imports_is_built_in():
    assert BUILTIN.keys() >= FOR_IMPORTS


def test_the_table_is_sorted():
    assert list(BUILTIN) == sorted(BUILTIN)
