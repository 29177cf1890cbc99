"""Every built-in processor meets the contract, and the suite finds each kind of fault."""

import inspect
import json
import struct
import time

import pytest
from hypothesis import strategies as st

from ingest.api import MappingError, Model, NotMergeableError, Processor, ProcessorExample
from ingest.plugins.loader import class_at
from ingest.testing.processors import ProcessorContract
from sinks import BUILTIN_PROCESSORS
from sinks.updates.processors.merge_json import MergeJson
from sinks.updates.processors.sum import Sum

EXACT = sorted(BUILTIN_PROCESSORS.keys() - {"sum", "merge_json"})
NAMES = st.sampled_from("abc")
NODES = st.recursive(
    st.none() | st.integers(0, 2) | st.lists(st.none(), max_size=1),
    lambda nodes: st.dictionaries(NAMES, nodes, max_size=3),
    max_leaves=8,
)


class TestBuiltIn(ProcessorContract):
    @pytest.fixture(params=EXACT)
    def kind_of_processor(self, request):
        return class_at(BUILTIN_PROCESSORS[request.param])

    def test_another_process_gives_the_same_result(self):
        """Tested for all processors in one process: test_deterministic."""

    def test_uses_no_clock_or_randomness(self):
        """The same."""


class TestSum(ProcessorContract):
    processor = Sum

    def values(self, example):
        return super().values(example) | st.floats(-1e6, 1e6).map(struct.Struct(">d").pack)

    def agrees(self, one, other, updates):
        """Sums of float64 are rounded."""
        if one == other:
            return True
        numbers = [struct.unpack(">d", update)[0] for update in updates]
        difference = struct.unpack(">d", one)[0] - struct.unpack(">d", other)[0]
        return abs(difference) <= 1e-9 * sum(map(abs, numbers))


class TestMergeJson(ProcessorContract):
    processor = MergeJson

    def test_another_process_gives_the_same_result(self):
        """As above."""

    def values(self, example):
        objects = st.dictionaries(NAMES, NODES, max_size=3).map(lambda content: json.dumps(content).encode())
        return super().values(example) | objects


@pytest.mark.parametrize("name", BUILTIN_PROCESSORS)
def test_module_has_the_name_of_the_processor(name):
    path = BUILTIN_PROCESSORS[name]
    assert (class_at(path).kind, path.split(":")[0]) == (name, f"sinks.updates.processors.{name}")
    assert "Source:" in inspect.getdoc(class_at(path))


def test_table_of_processors_is_sorted():
    assert list(BUILTIN_PROCESSORS) == sorted(BUILTIN_PROCESSORS)


class Longest(Processor[Model]):
    """Keep the longest value."""

    kind = "longest"
    merge_examples = (
        ProcessorExample("the longest", values=("a", "ccc", "bb"), merged="ccc"),
        ProcessorExample("no spaces", values=("a", "b"), merged="a", refused=("a b",)),
    )

    def update(self, value):
        if b" " in value:
            raise MappingError("the value has a space", code="has_space")
        return value

    def merge(self, updates):
        return max(updates, key=len)


class TestLongest(ProcessorContract):
    processor = Longest

    def test_another_process_gives_the_same_result(self):
        """Another process cannot import a test module."""


class Mean(Longest):
    """The mean of the lengths: the mean of means is another one."""

    merge_examples = (
        ProcessorExample("the mean", values=("a", "ccc"), merged="xx"),
        ProcessorExample("one", values=("x",), merged="x"),
    )

    def merge(self, updates):
        return b"x" * round(sum(map(len, updates)) / len(updates))


class WrongExample(Longest):
    """Its example has another result."""

    merge_examples = (ProcessorExample("the longest", values=("a", "ccc"), merged="a"),)


class RefusesWithoutCode(Longest):
    """Refuses spaces without a code."""

    def update(self, value):
        if b" " in value:
            raise MappingError("the value has a space")
        return value


class CannotMergeItsUpdates(Longest):
    """Takes values that it cannot merge."""

    def merge(self, updates):
        if any(update.isdigit() for update in updates):
            raise NotMergeableError("a number")
        return super().merge(updates)


class Crashes(Longest):
    """Decodes stored bytes as UTF-8."""

    def merge(self, updates):
        return max(updates, key=lambda update: len(update.decode()))


class SortsItsArgument(Longest):
    """Sorts the list of its caller."""

    def merge(self, updates):
        updates.sort(key=len)
        return updates[-1]


class UsesClock(Longest):
    """Reads the clock."""

    def merge(self, updates):
        time.time()
        return super().merge(updates)


class RemembersUpdates(Longest):
    """Keeps the longest of all rows."""

    def __init__(self, settings):
        super().__init__(settings)
        self.longest = b""

    def merge(self, updates):
        self.longest = super().merge([self.longest, *updates])
        return self.longest


@pytest.mark.parametrize(
    ("test", "processor", "error"),
    [
        ("test_examples_give_the_documented_result", WrongExample, AssertionError),
        ("test_every_value_is_refused_or_can_be_merged", RefusesWithoutCode, AssertionError),
        ("test_every_value_is_refused_or_can_be_merged", CannotMergeItsUpdates, AssertionError),
        ("test_merge_is_associative", Mean, AssertionError),
        ("test_stored_bytes_raise_only_not_mergeable_errors", Crashes, UnicodeDecodeError),
        ("test_merge_leaves_its_argument_unchanged", SortsItsArgument, AssertionError),
        ("test_uses_no_clock_or_randomness", UsesClock, AssertionError),
        ("test_result_does_not_depend_on_earlier_calls", RemembersUpdates, AssertionError),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else value,
)
def test_fault_is_found(test, processor, error):
    with pytest.raises(error):
        getattr(ProcessorContract(), test)(processor)
