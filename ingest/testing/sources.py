"""
The contract of every source, as tests that need no server and no Spark.

A source is checked with a subclass and a fixture that creates it::

    class TestMySource(SourceContract):
        @pytest.fixture
        def kit(self, tmp_path):
            return SourceKit(MySource, settings, another)

Tests that need the system itself, such as `identity` of Kafka, are skipped if the kit says so.
"""
# this module is tests: asserts, and names that say what they check
# ruff: noqa: S101, D102

import inspect
import pickle
from dataclasses import dataclass, field
from typing import Any

import pytest

from ingest.api import Decoding, OffsetUnit, Source, SourceContext, SourceSettings
from ingest.expressions import CORE_NAMES
from ingest.plugins.contract import check_component

__all__ = ["NoPositions", "SourceContract", "SourceKit"]


class NoPositions:
    """The positions of a pipeline that has read nothing."""

    exists = False

    def newest_commit(self) -> int | None:
        """None: no batch is acknowledged."""
        return None

    def end_offsets(self, batch_id: int) -> dict[str, object]:
        """There is no batch."""
        raise LookupError(batch_id)


@dataclass(frozen=True, slots=True)
class SourceKit:
    """
    A source to check.

    Attributes:
        settings: of the source.
        another: settings that read something else, whose positions are invalid for the first.
        context: for the constructor; built-in sources need a larger one than the contract's.
        needs_system: whether `identity` needs a system that the tests do not start.
    """

    source: type[Source[Any]]
    settings: SourceSettings
    another: SourceSettings
    context: SourceContext = field(default_factory=lambda: SourceContext("p", "UTC", None, NoPositions()))
    needs_system: bool = False

    def make(self, settings: SourceSettings | None = None) -> Source[Any]:
        """The source, only constructed."""
        return self.source(settings or self.settings, self.context)


class SourceContract:
    """Subclass it, name the subclass `Test…`, and define a fixture `kit` that returns a `SourceKit`."""

    def test_class_is_accepted_by_pipelines(self, kit: SourceKit) -> None:
        check_component(kit.source, "sources", kit.source.kind)
        assert kit.source.examples, "give it an example: `attr2hbase describe` shows it"

    def test_settings_survive_pickling(self, kit: SourceKit) -> None:
        assert isinstance(kit.settings, kit.source.settings_class())
        assert pickle.loads(pickle.dumps(kit.settings)) == kit.settings  # noqa: S301 - our own bytes

    def test_every_property_of_the_settings_has_a_valid_value(self, kit: SourceKit) -> None:
        settings = kit.settings
        assert isinstance(settings.decoding, Decoding)
        assert isinstance(settings.summary, str)
        assert all(settings.reads_topic(topic) for topic in settings.topics_by_name)
        assert settings.consumer_group is None or all(settings.consumer_group)
        assert {type(value) for value in (settings.has_headers, settings.has_record_times)} == {bool}
        assert {type(value) for value in (settings.has_batch_log, settings.keeps_batch_times)} == {bool}
        assert settings.fixed_names <= set(CORE_NAMES)
        assert all(isinstance(text, str) for item in settings.java_properties().items() for text in item)

    def test_constructed_source_keeps_its_settings_and_reports_no_fault(self, kit: SourceKit) -> None:
        source = kit.make()
        assert source.settings is kit.settings
        assert source.context is kit.context
        assert (source.data_loss(), source.unavailable()) == (None, None)

    def test_close_without_a_frame_and_again(self, kit: SourceKit) -> None:
        source = kit.make()
        source.close()
        source.close()

    def test_identity_is_stable_and_differs_for_other_settings(self, kit: SourceKit) -> None:
        if kit.needs_system:
            pytest.skip("identity needs a system that is not running")
        first = dict(kit.make().identity())
        assert first
        assert "source" not in first, "the caller adds the kind"
        assert all(isinstance(text, str) and text for item in first.items() for text in item)
        assert first == dict(kit.make().identity())
        assert first != dict(kit.make(kit.another).identity())

    def test_clock_is_compared(self, kit: SourceKit) -> None:
        if kit.needs_system:
            pytest.skip("the clock needs a system that is not running")
        kit.make().check_clock()

    def test_batch_log_is_of_records_that_are_read_again(self, kit: SourceKit) -> None:
        assert not kit.settings.has_batch_log or kit.settings.read_again_by is OffsetUnit.RECORDS

    def test_methods_of_the_contract_keep_their_arguments(self, kit: SourceKit) -> None:
        of_objects = "check_clock", "identity", "frame", "splits", "data_loss", "unavailable", "close"
        for name in (*of_objects, "jars", "check"):
            expected = list(inspect.signature(getattr(Source, name)).parameters)
            assert list(inspect.signature(getattr(kit.source, name)).parameters) == expected
