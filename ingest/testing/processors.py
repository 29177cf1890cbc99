# ruff: noqa: S101 - a suite is made of assertions
"""The contract of every processor, as a suite to inherit from."""

import contextlib
import pickle
from collections.abc import Callable, Sequence
from typing import ClassVar

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from ingest.api import MappingError, NotMergeableError, ProcessorExample
from ingest.formats.cell_types import CODECS, CellType
from ingest.plugins.contract import check_component
from ingest.testing.events import settings_of
from ingest.testing.merges import AnyProcessor, bytes_of, processor_of, read_of, values_of
from ingest.testing.purity import digest, digest_elsewhere, impurities_of, uses

_MIN_EXAMPLES = 2  # the common case and the edge
_TRIES = 50

Check = Callable[[st.DataObject, AnyProcessor, ProcessorExample], None]


class ProcessorContract:
    """
    The contract of `ingest.api.Processor`.

    Name the processor::

        class TestLongest(ProcessorContract):
            processor = Longest

    For several, override the fixture `kind_of_processor` with one that has parameters.
    """

    processor: ClassVar[type[AnyProcessor]]

    @pytest.fixture
    def kind_of_processor(self) -> type[AnyProcessor]:
        """The class under test."""
        return self.processor

    def values(self, example: ProcessorExample) -> st.SearchStrategy[bytes]:
        """Values for the options of an example; override it for values in a special format."""
        known = st.sampled_from([*values_of(example), *map(bytes_of, example.refused)])
        return known | st.integers(-(10**6), 10**6).map(lambda number: b"%d" % number) | st.binary(max_size=8)

    def agrees(self, one: bytes, other: bytes, updates: Sequence[bytes]) -> bool:  # noqa: ARG002 - for overrides
        """
        Whether two results of the same updates are the same; override it for results that are rounded.

        Args:
            one: the result of merging them at once.
            other: the result of merging some of them first.
            updates: what was merged, for a bound on the difference.
        """
        return one == other

    def test_class_is_accepted_by_pipelines(self, kind_of_processor: type[AnyProcessor]) -> None:
        """Name, docstring, examples, and options with types and texts: without them pipelines reject it."""
        check_component(kind_of_processor, "processors", kind_of_processor.kind)

    def test_examples_show_the_common_case_and_an_edge(self, kind_of_processor: type[AnyProcessor]) -> None:
        """Each has a title that says what it shows."""
        titles = [example.title for example in kind_of_processor.merge_examples]
        assert len(set(titles)) == len(titles) >= _MIN_EXAMPLES

    def test_examples_give_the_documented_result(self, kind_of_processor: type[AnyProcessor]) -> None:
        """What a read returns, and which values are refused."""
        for example in kind_of_processor.merge_examples:
            processor = processor_of(kind_of_processor, example)
            assert read_of(processor, values_of(example)) == bytes_of(example.merged), example.title
            for value in example.refused:
                with pytest.raises(MappingError):
                    processor.update(bytes_of(value))

    def test_results_are_of_the_declared_type(self, kind_of_processor: type[AnyProcessor]) -> None:
        """Commands show what a read returns with `value_type`."""
        for example in kind_of_processor.merge_examples:
            value_type = kind_of_processor.value_type(processor_of(kind_of_processor, example).settings)
            if value_type is not None:
                CODECS[CellType(value_type)].decode(bytes_of(example.merged))

    def test_every_value_is_refused_or_can_be_merged(self, kind_of_processor: type[AnyProcessor]) -> None:
        """A refused value raises a MappingError with a code of its own; any other can be merged and read."""

        def check(data: st.DataObject, processor: AnyProcessor, example: ProcessorExample) -> None:
            value = data.draw(self.values(example), label="value")
            update = _update(processor, value)
            if isinstance(update, MappingError):
                assert update.code != MappingError.code, f"{value!r} is refused without a code"
                return
            assert type(processor.result(update)) is bytes
            # not with all: the sum of two large numbers may have no representation
            assert any(_merged(processor, [update, other]) is not None for other in _updates_of(processor, example))

        _check_often(kind_of_processor, check)

    def test_merge_is_associative(self, kind_of_processor: type[AnyProcessor]) -> None:
        """Updates give the same value, whichever neighbours are merged first."""

        def check(data: st.DataObject, processor: AnyProcessor, example: ProcessorExample) -> None:
            values = data.draw(st.lists(self.values(example), max_size=8), label="values")
            found = [_update(processor, value) for value in (*values, *values_of(example), *values[:2])]
            updates = [update for update in found if not isinstance(update, MappingError)]
            at_once, parts = _merged(processor, updates), list(updates)
            assert at_once is not None or not processor.merges_all, f"{updates} cannot be merged"
            while len(parts) > 1:
                first = data.draw(st.integers(0, len(parts) - 2), label="first")
                end = data.draw(st.integers(first + 2, len(parts)), label="end")
                part = _merged(processor, parts[first:end])
                if part is None:
                    return  # they stay as they are
                parts[first:end] = [part]
            assert at_once is not None, f"{updates} can only be merged in parts"
            message = f"{updates} give {at_once!r} at once, and {parts[0]!r} in parts"
            assert self.agrees(at_once, parts[0], updates), message
            assert self.agrees(processor.result(at_once), processor.result(parts[0]), updates), message

        _check_often(kind_of_processor, check)

    def test_stored_bytes_raise_only_not_mergeable_errors(self, kind_of_processor: type[AnyProcessor]) -> None:
        """Whatever another program has written: the read reports the column."""

        def check(data: st.DataObject, processor: AnyProcessor, example: ProcessorExample) -> None:
            stored = self.values(example) | st.sampled_from(_updates_of(processor, example))
            updates = data.draw(st.lists(stored, min_size=2, max_size=4), label="stored")
            found = _merged(processor, updates)
            assert found is None or type(found) is bytes
            with contextlib.suppress(NotMergeableError):
                assert type(processor.result(updates[0])) is bytes

        _check_often(kind_of_processor, check)

    def test_merge_leaves_its_argument_unchanged(self, kind_of_processor: type[AnyProcessor]) -> None:
        """The caller uses it again."""
        for example in kind_of_processor.merge_examples:
            processor = processor_of(kind_of_processor, example)
            updates = 2 * _updates_of(processor, example)
            before = list(updates)
            processor.merge(updates)
            assert updates == before, example.title

    def test_uses_no_clock_or_randomness(self, kind_of_processor: type[AnyProcessor]) -> None:
        """A replay stores the same data."""
        assert set().union(*map(impurities_of, uses(kind_of_processor))) == set()

    def test_another_process_gives_the_same_result(self, kind_of_processor: type[AnyProcessor]) -> None:
        """The result does not depend on the order of a set, nor on the zone or language of the machine."""
        assert digest_elsewhere(kind_of_processor) == digest(kind_of_processor)

    def test_result_does_not_depend_on_earlier_calls(self, kind_of_processor: type[AnyProcessor]) -> None:
        """One processor merges the updates of all rows."""
        for example in kind_of_processor.merge_examples:
            processor = processor_of(kind_of_processor, example)
            for other in kind_of_processor.merge_examples:
                for update in (_update(processor, value) for value in values_of(other)):
                    if not isinstance(update, MappingError):
                        _merged(processor, [update, update])
                assert read_of(processor, values_of(example)) == bytes_of(example.merged), example.title

    def test_pickled_settings_give_the_same_result(self, kind_of_processor: type[AnyProcessor]) -> None:
        """Settings are pickled on the driver; the worker's processor behaves the same."""
        for example in kind_of_processor.merge_examples:
            known = settings_of(kind_of_processor.settings_class(), example.settings)
            copy = pickle.loads(pickle.dumps(known))  # noqa: S301 - our own
            assert copy == known
            assert read_of(kind_of_processor(copy), values_of(example)) == bytes_of(example.merged)

    def test_unknown_options_are_rejected(self, kind_of_processor: type[AnyProcessor]) -> None:
        """No option is silently ignored."""
        example = kind_of_processor.merge_examples[0]
        options = settings_of(kind_of_processor.settings_class(), example.settings).model_dump()
        with pytest.raises(ValueError, match="surely_no_option"):
            kind_of_processor.settings_class()(**options, surely_no_option=1)


def _updates_of(processor: AnyProcessor, example: ProcessorExample) -> list[bytes]:
    return [processor.update(value) for value in values_of(example)]


def _update(processor: AnyProcessor, value: bytes) -> bytes | MappingError:
    """The update of a value, or why it is refused."""
    try:
        return processor.update(value)
    except MappingError as error:
        return error


def _merged(processor: AnyProcessor, updates: list[bytes]) -> bytes | None:
    """The merged updates; None if they cannot be merged."""
    try:
        return processor.merge(updates)
    except NotMergeableError:
        return None


def _check_often(kind: type[AnyProcessor], check: Check) -> None:
    """Run a check many times, each with the options of an example; always the same times."""

    @settings(max_examples=_TRIES, deadline=None, derandomize=True, phases=(Phase.generate, Phase.shrink))
    @given(st.data())
    def run(data: st.DataObject) -> None:
        example = data.draw(st.sampled_from(kind.merge_examples), label="options of")
        check(data, processor_of(kind, example), example)

    run()
