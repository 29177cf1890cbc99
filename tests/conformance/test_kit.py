"""The decorator suite finds each kind of fault, and a decorator without faults passes."""

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from ingest.api import CatalogError, DecorateError, Decorator, Example, FanOut, Settings, option
from ingest.testing.decorators import DecoratorContract
from tests.support.plugins import shout

ROOT = Path(__file__).resolve().parents[2]


class FaultySettings(Settings):
    """Options."""

    name: str = option("Name of the attribute.", default="made")


class Good(Decorator[FaultySettings]):
    """Set an attribute; an empty body is an error."""

    kind = "faulty"
    examples = (
        Example("a body", body="a", after={"made": "A"}),
        Example("an empty body", error="no_body"),
    )

    def decorate(self, event):
        if not event.body:
            raise DecorateError("the body is empty", code="no_body")
        event.set(self.settings.name, event.body.upper())
        return True


class TestGood(DecoratorContract):
    decorator = Good

    def test_another_process_gives_the_same_result(self):
        """Another process cannot import a test module."""


class WrongExample(Good):
    """Its example has another result."""

    examples = (Example("a body", body="a", after={"made": "a"}), Good.examples[1])


class AssignsFirst(Good):
    """Assigns before it computes."""

    def decorate(self, event):
        event.attributes["half"] = b"done"
        return super().decorate(event)


class Crashing(Good):
    """Decodes every body as UTF-8."""

    def decorate(self, event):
        if event.body:
            event.body.decode()
        return super().decorate(event)


class Untyped(Good):
    """Sets text instead of bytes."""

    def decorate(self, event):
        if len(event.body) > 1:
            event.attributes["made"] = str(event.body)
            return True
        return super().decorate(event)


class UsesClock(Good):
    """Reads the clock."""

    def decorate(self, event):
        time.time()
        return super().decorate(event)


class UndeclaredState(Good):
    """Counts events, but does not declare `stateful`."""

    def __init__(self, settings):
        super().__init__(settings)
        self.count = 0

    def decorate(self, event):
        self.count += 1
        event.body = event.body and event.body + b"%d" % (self.count // 9)
        return super().decorate(event)


class ReturnsInt(Good):
    """Returns 1 instead of True."""

    def decorate(self, event):
        return int(super().decorate(event))


class SharesAttributes(FanOut[FaultySettings]):
    """Creates two events with one dictionary."""

    kind = "faulty"
    examples = (
        Example("two", body="a", made=(("a", {}), ("a", {}))),
        Example("none", made=()),
    )

    def decorate(self, event):
        return [replace(event), replace(event)] if event.body else []


class ChangesKey(Good):
    """Changes the key."""

    def decorate(self, event):
        passes = super().decorate(event)
        event.key = b"k"
        return passes


@pytest.mark.parametrize(
    ("test", "decorator", "error"),
    [
        ("test_examples_give_the_documented_result", WrongExample, AssertionError),
        ("test_examples_give_the_documented_result", ReturnsInt, AssertionError),
        ("test_failed_event_is_unchanged", AssignsFirst, AssertionError),
        ("test_arbitrary_events_raise_only_event_errors", Crashing, UnicodeDecodeError),
        ("test_output_events_are_valid", Untyped, TypeError),
        ("test_uses_no_clock_or_randomness", UsesClock, AssertionError),
        ("test_result_does_not_depend_on_earlier_events", UndeclaredState, AssertionError),
        ("test_events_share_no_attributes_object", SharesAttributes, AssertionError),
        ("test_keeps_origin_key_and_tombstone", ChangesKey, AssertionError),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else value,
)
def test_fault_is_found(test, decorator, error):
    getattr(DecoratorContract(), test)(Good)
    with pytest.raises(error):
        getattr(DecoratorContract(), test)(decorator)


def test_error_names_the_reason_why_a_class_is_rejected():
    bare = type("Bare", (Good,), {"__doc__": "Nothing to show.", "examples": ()})
    with pytest.raises(CatalogError, match='"Bare" has no examples'):
        DecoratorContract().test_class_is_accepted_by_pipelines(bare)


AUTHORS_TEST = """\
from ingest.testing.decorators import DecoratorContract
from kit_plugin import Shout

class TestShout(DecoratorContract):
    decorator = Shout
"""


@pytest.mark.parametrize(
    ("body", "failed"),
    [
        ("event.body.upper()", ""),
        ("b''.join(sorted(set(event.body.split())))", "test_examples_give_the_documented_result"),
        ("bytes(str(set('abcdefghijklmnop')), 'ascii')", "test_another_process_gives_the_same_result"),
    ],
    ids=["none", "another result", "order of a set"],
)
def test_suite_of_a_plugin_author(tmp_path, body, failed):
    """Three lines, with pytest alone and without this project's configuration."""
    example = 'Example("a word", body="hey", body_after="HEY!"),'
    second = 'Example("a mark", settings="{mark: \'?\'}", body="hey", body_after="HEY?"),'
    text = shout("loud").replace(f"({example})", f"({example} {second})")
    assert second in text
    (tmp_path / "kit_plugin.py").write_text(text.replace("event.body.upper()", body))
    (tmp_path / "test_kit_plugin.py").write_text(AUTHORS_TEST)
    (tmp_path / "conftest.py").write_text("import sys\nsys.modules['hypothesis'] = None\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", "."],
        cwd=tmp_path,
        # a random hash seed might be that of the suite's other process
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, f"TestShout::{failed}" in done.stdout) == (bool(failed), bool(failed)), done.stdout
    if not failed:
        assert " passed" in done.stdout
        assert "skipped" not in done.stdout
