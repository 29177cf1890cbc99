"""Every built-in decorator meets the contract and is in the module of its name."""

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

    def test_another_process_gives_the_same_result(self):
        """Tested for all decorators in one process: test_deterministic."""

    def test_uses_no_clock_or_randomness(self):
        """The same."""

    def test_docstring_names_the_source(self, kind_of_decorator):
        doc = inspect.getdoc(kind_of_decorator)
        assert doc.splitlines()[0].endswith(".")
        assert "Source:" in doc


@pytest.mark.parametrize("name", BUILTIN)
def test_module_has_the_name_of_the_decorator(name):
    file = ALIASES.get(name, name)
    assert (load(BUILTIN[name]).kind, BUILTIN[name].split(":")[0]) == (name, f"decorators.{file}")


@pytest.mark.parametrize(("name", "decorator"), ALIASES.items())
def test_alias_has_the_code_of_its_decorator(name, decorator):
    assert load(BUILTIN[name]).decorate is load(BUILTIN[decorator]).decorate


def test_decorators_for_imports_are_built_in():
    assert BUILTIN.keys() >= FOR_IMPORTS


def test_table_of_decorators_is_sorted():
    assert list(BUILTIN) == sorted(BUILTIN)
