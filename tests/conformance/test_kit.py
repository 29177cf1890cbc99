"""The suite for decorators finds each fault it is there for, and passes one that has none."""

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

    name: str = option("What is set.", default="made")


class Good(Decorator[FaultySettings]):
    """Set an attribute, for which an empty body will not do."""

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

    def test_another_process_gives_the_same(self):
        """A module of tests has no name in another process."""


class Untrue(Good):
    """Its examples say something else."""

    examples = (Example("a body", body="a", after={"made": "a"}), Good.examples[1])


class HalfDone(Good):
    """Assigns before it has computed."""

    def decorate(self, event):
        event.attributes["half"] = b"done"
        return super().decorate(event)


class Crashing(Good):
    """Takes every body for text."""

    def decorate(self, event):
        if event.body:
            event.body.decode()
        return super().decorate(event)


class Untyped(Good):
    """Leaves text where bytes belong."""

    def decorate(self, event):
        if len(event.body) > 1:
            event.attributes["made"] = str(event.body)
            return True
        return super().decorate(event)


class AskingTime(Good):
    """Looks at the clock."""

    def decorate(self, event):
        time.time()
        return super().decorate(event)


class Remembering(Good):
    """Counts, and does not say that it remembers."""

    def __init__(self, settings):
        super().__init__(settings)
        self.count = 0

    def decorate(self, event):
        self.count += 1
        event.body = event.body and event.body + b"%d" % (self.count // 9)
        return super().decorate(event)


class Mumbling(Good):
    """Answers with something that is as good as True."""

    def decorate(self, event):
        return int(super().decorate(event))


class Sharing(FanOut[FaultySettings]):
    """Makes two events of one, with one dictionary."""

    kind = "faulty"
    examples = (
        Example("two", body="a", made=(("a", {}), ("a", {}))),
        Example("none", made=()),
    )

    def decorate(self, event):
        return [replace(event), replace(event)] if event.body else []


class Moving(Good):
    """Changes the key."""

    def decorate(self, event):
        kept = super().decorate(event)
        event.key = b"k"
        return kept


@pytest.mark.parametrize(
    ("test", "decorator", "error"),
    [
        ("test_examples_are_true", Untrue, AssertionError),
        ("test_examples_are_true", Mumbling, AssertionError),
        ("test_an_event_that_fails_is_unchanged", HalfDone, AssertionError),
        ("test_any_bytes_do_not_crash_it", Crashing, UnicodeDecodeError),
        ("test_its_output_is_a_valid_event", Untyped, TypeError),
        ("test_it_uses_no_clock_and_no_randomness", AskingTime, AssertionError),
        ("test_it_is_pure", Remembering, AssertionError),
        ("test_events_share_nothing", Sharing, AssertionError),
        ("test_it_keeps_the_rest_of_the_event", Moving, AssertionError),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else value,
)
def test_fault_is_found(test, decorator, error):
    getattr(DecoratorContract(), test)(Good)
    with pytest.raises(error):
        getattr(DecoratorContract(), test)(decorator)


def test_one_that_no_pipeline_takes_is_told_why():
    bare = type("Bare", (Good,), {"__doc__": "Nothing to show.", "examples": ()})
    with pytest.raises(CatalogError, match='"Bare" has no examples'):
        DecoratorContract().test_it_can_be_used(bare)


AUTHORS_TEST = """\
from ingest.testing.decorators import DecoratorContract
from kit_plugin import Shout

class TestShout(DecoratorContract):
    decorator = Shout
"""


@pytest.mark.parametrize(
    ("change", "failed"),
    [
        ((), ""),
        (("event.body.upper()", "b''.join(sorted(set(event.body.split())))"), "test_examples_are_true"),
        (("event.body.upper()", "bytes(str(set('abcdefghijklmnop')), 'ascii')"), "test_another_process_gives_the_same"),
    ],
    ids=["none", "another result", "order of a set"],
)
def test_three_lines_are_a_suite_elsewhere(tmp_path, change, failed):
    """With pytest alone, far from this project's configuration."""
    example = 'Example("a word", body="hey", body_after="HEY!"),'
    second = 'Example("a mark", settings="{mark: \'?\'}", body="hey", body_after="HEY?"),'
    text = shout("loud").replace(f"({example})", f"({example} {second})")
    assert second in text
    (tmp_path / "kit_plugin.py").write_text(text.replace(*change) if change else text)
    (tmp_path / "test_kit_plugin.py").write_text(AUTHORS_TEST)
    (tmp_path / "conftest.py").write_text("import sys\nsys.modules['hypothesis'] = None\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", "."],
        cwd=tmp_path,
        # by chance the suite's other process might order a set as this one does
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, f"TestShout::{failed}" in done.stdout) == (bool(failed), bool(failed)), done.stdout
    if not failed:
        assert " passed" in done.stdout
        assert "skipped" not in done.stdout
