"""Every built-in decorator keeps the contract, and stands where its name says."""

from importlib import import_module

import pytest

from decorators import BUILTIN
from ingest.testing.decorators import DecoratorContract


def load(path):
    module, name = path.split(":")
    return getattr(import_module(module), name)


class TestBuiltIn(DecoratorContract):
    @pytest.fixture(params=BUILTIN)
    def kind_of_decorator(self, request):
        return load(BUILTIN[request.param])


@pytest.mark.parametrize("name", BUILTIN)
def test_the_file_is_named_as_in_yaml(name):
    assert (load(BUILTIN[name]).kind, BUILTIN[name].split(":")[0]) == (name, f"decorators.{name}")


def test_the_table_is_sorted():
    assert list(BUILTIN) == sorted(BUILTIN)
