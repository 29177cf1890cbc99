"""Comparisons in a process of their own."""

import pytest

from decorators.regex import Regex
from decorators.template import Value
from ingest.config.test_cases import Given
from ingest.dry_run import apart
from ingest.dry_run.apart import ComparisonFailedError, Version, diff_apart
from ingest.dry_run.shortened import Limit
from ingest.testing.events import settings_of
from tests.support.parts import planned
from tests.support.plans import plan, sink


def version(*decorators):
    parts = [
        planned(kind.kind, f"{kind.__module__}:{kind.__name__}", settings_of(kind.settings_class(), text))
        for kind, text in decorators
    ]
    return Version(plan(sink(), decorators=tuple(parts)), {})


LIMIT = Limit(1, 1 << 20)
WRITTEN = """\
import os
from decorators.template import Value

class Written(Value):
    def decorate(self, event):
        %s
        return super().decorate(event)
"""


@pytest.fixture
def written(tmp_path, monkeypatch):
    """From a statement to a version whose decorator runs it for each event, before it sets the row key."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def version_with(statement):
        (tmp_path / "written_decorator.py").write_text(WRITTEN % statement)
        own = planned("value", "written_decorator:Written", settings_of(Value.settings_class(), KEY[1]))
        return Version(plan(sink(), decorators=(own,)), {})

    return version_with


KEY = (Value, "{attribute: '2hb_', value: '%{body}'}")


def cell(value):
    return (Value, f"{{attribute: '2hb_f:q', value: {value}}}")


def test_versions_are_compared():
    given = [Given(body="a"), Given(body="b")]
    found = diff_apart(version(KEY, cell("x")), version(KEY, cell("y")), given, LIMIT, is_stopping=lambda: False)
    (table,) = found["tables"]
    assert (found["events"], table["rows"]["changed"], len(table["changed_rows"])) == (2, 2, 1)


def test_comparison_ends_with_the_service():
    asked = []

    def is_stopping():
        asked.append(True)
        return True

    slow = (Regex, r"{pattern: '^(a+)+$', attributes: [x]}")
    given = [Given(body="a" * 40 + "b")] * 100
    with pytest.raises(ComparisonFailedError, match="or was killed"):
        diff_apart(version(KEY), version(slow, KEY), given, LIMIT, is_stopping=is_stopping)
    assert asked


def test_chain_that_takes_too_long_is_ended(monkeypatch):
    monkeypatch.setattr(apart, "_WALL_S", 0.0)
    slow = (Regex, r"{pattern: '^(a+)+$', attributes: [x]}")
    with pytest.raises(ComparisonFailedError, match="did not end within 60 s"):
        diff_apart(
            version(KEY), version(slow, KEY), [Given(body="a" * 40 + "b")] * 100, LIMIT, is_stopping=lambda: False
        )


def test_component_that_is_unavailable_is_named():
    broken = planned("value", "decorators.nothing:Value", settings_of(Value.settings_class(), KEY[1]))
    other = Version(plan(sink(), decorators=(broken,)), {})
    with pytest.raises(ComparisonFailedError, match=r"the versions could not be compared: .*nothing"):
        diff_apart(version(KEY), other, [Given(body="a")], LIMIT, is_stopping=lambda: False)


def test_what_a_decorator_prints_is_no_part_of_the_answer(written):
    printing = written("print('kept'); os.write(1, b'{'); os.write(2, b'seen')")
    found = diff_apart(version(KEY), printing, [Given(body="a")], LIMIT, is_stopping=lambda: False)
    assert (found["events"], found["differs"]) == (1, False)


def test_decorator_that_ends_python_fails_the_comparison_with_what_it_printed(written):
    ending = written("os.write(1, b'first' + b'\\n' * 9_000 + b'bye'); os._exit(3)")
    with pytest.raises(ComparisonFailedError, match=r"exit code 3 and without an answer; it printed: +bye$"):
        diff_apart(version(KEY), ending, [Given(body="a")], LIMIT, is_stopping=lambda: False)


def test_comparison_without_enough_memory_fails(written):
    # zeros that nobody touches need no memory of the machine
    large = written("bytes(3 << 30)")
    with pytest.raises(ComparisonFailedError, match="they need more than 2048 MiB; compare them with fewer records"):
        diff_apart(version(KEY), large, [Given(body="a")], LIMIT, is_stopping=lambda: False)
