"""The decorators that limit sizes: truncate and max_size."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators.max_size import MaxSize
from decorators.truncate import Truncate
from ingest.api import EventError
from ingest.api.notation import name_to_bytes
from ingest.testing.events import event_of, settings_of
from ingest.testing.splits import outcomes_of_split


def truncated(text, settings):
    event = event_of(text)
    assert Truncate(settings_of(Truncate.settings_class(), settings)).decorate(event) is True
    return event.body


class TestTruncate:
    @pytest.mark.parametrize(
        ("settings", "text", "expected"),
        [
            ("{max_bytes: 3B}", b"abc", b"abc"),
            ("{max_bytes: 3B}", b"abcd", b"abc"),
            ("{max_bytes: 3B, suffix: '..'}", b"abcd", b"a.."),
            ("{max_bytes: 3B, suffix: '..'}", b"abc", b"abc"),
            ("{max_bytes: 2B, suffix: '..'}", b"abc", b".."),
            ("{max_bytes: 3B, suffix: …}", b"abcd", "…".encode()),
            ("{max_bytes: 4B}", "größe".encode(), "grö".encode()),
            ("{max_bytes: 3B}", "größe".encode(), b"gr"),
            ("{max_bytes: 1B}", "✓".encode(), b""),
            ("{max_bytes: 2B}", "✓".encode(), b""),
            ("{max_bytes: 3B}", "✓✓".encode(), "✓".encode()),
            ("{max_bytes: 5B}", "a😀b".encode(), "a😀".encode()),
            ("{max_bytes: 4B}", "a😀b".encode(), b"a"),
            ("{max_bytes: 2B}", b"\xff\xff\xff", b"\xff"),
            ("{max_bytes: 2B}", b"\x80\x80\x80", b"\x80\x80"),
            ("{max_bytes: 2B}", b"a\x80\x80", b"a\x80"),
            ("{max_bytes: 1KiB}", b"", b""),
        ],
    )
    def test_text_is_cut_within_the_limit(self, settings, text, expected):
        assert truncated(text, settings) == expected

    @given(st.text(), st.integers(1, 40))
    def test_text_is_cut_at_the_last_character_that_fits(self, text, most):
        found = truncated(text, f"{{max_bytes: {most}B}}").decode()
        assert text.startswith(found)
        left = text[len(found) :]
        assert not left or len(found.encode()) + len(left[0].encode()) > most >= len(found.encode())

    @given(st.binary(), st.integers(1, 40))
    def test_any_bytes_are_cut_near_the_limit(self, text, most):
        found = truncated(text, f"{{max_bytes: {most}B}}")
        assert text.startswith(found)
        assert min(most - 3, len(text)) <= len(found) <= most

    def test_only_the_selected_attributes_are_truncated(self, attributes_after):
        settings = "{max_bytes: 2B, attributes: [a, c]}"
        assert attributes_after(Truncate, settings, "xyz", {"a": "123", "b": "123"}) == {"a": b"12", "b": b"123"}
        settings = "{max_bytes: 2B, attributes: ['*']}"
        found = attributes_after(Truncate, settings, "xyz", {"a": "123", "b": "1"}, write_once=True)
        assert found == {"a": b"12", "b": b"1"}

    @pytest.mark.parametrize(
        ("settings", "expected"),
        [
            ("{}", [("missing", ("max_bytes",))]),
            ("{max_bytes: 0B}", [("greater_than", ("max_bytes",))]),
            ("{max_bytes: 10}", [("bad_unit", ("max_bytes",))]),
            ("{max_bytes: 2B, suffix: …}", [("out_of_range", ())]),
            ("{max_bytes: 2B, body: false}", [("missing", ())]),
            ("{max_bytes: 2B, attributes: ['*', a]}", [("conflict", ())]),
        ],
    )
    def test_invalid_options_are_rejected(self, errors_of, settings, expected):
        assert errors_of(Truncate, settings) == expected


def size_of(event):
    return len(event.body) + sum(len(name_to_bytes(name)) + len(value) for name, value in event.attributes.items())


class TestMaxSize:
    @pytest.mark.parametrize(
        ("body", "attributes"),
        [("123456", {}), ("12", {"ab": "34"}), ("", {"größe": ""}), ("1", {"\udcff": "1234"})],
        ids=["body", "attributes", "names-in-utf8", "names-of-bytes"],
    )
    def test_size_of_an_event(self, body, attributes, attributes_after, refusal_of):
        size = size_of(event_of(body, attributes))
        attributes_after(MaxSize, f"{{max_bytes: {size}B}}", body, attributes)
        assert refusal_of(MaxSize, f"{{max_bytes: {size - 1}B}}", body, attributes) == "too_large"

    @given(
        st.text(),
        st.dictionaries(
            st.text(st.characters(exclude_categories=["Cs"]), max_size=5), st.binary(max_size=9), max_size=3
        ),
        st.integers(1, 40),
        st.sampled_from(["error", "drop", "cut"]),
    )
    def test_passing_event_fits(self, body, attributes, most, on_larger):
        decorator = MaxSize(settings_of(MaxSize.settings_class(), f"{{max_bytes: {most}B, on_larger: {on_larger}}}"))
        event = event_of(body, attributes)
        before = event.copy()
        (found,) = outcomes_of_split(decorator, [event])
        is_small = size_of(before) <= most
        if isinstance(found, EventError):
            assert (found.code, on_larger == "drop", is_small) == ("too_large", False, False)
            assert event == before
        elif found:
            assert size_of(event) <= most
            assert event.attributes == before.attributes
            assert body.startswith(event.body.decode())
            assert (event == before) is is_small
        else:
            assert (on_larger, is_small) == ("drop", False)

    def test_drop_is_counted_under_its_reason(self):
        decorator = MaxSize(settings_of(MaxSize.settings_class(), "{max_bytes: 1B, on_larger: drop}"))
        assert (decorator.decorate(event_of("ab")), decorator.drop_reason) == (False, "max_size")

    def test_too_large_attributes_fail_despite_cut(self, refusal_of):
        settings = "{max_bytes: 3B, on_larger: cut}"
        assert refusal_of(MaxSize, settings, "abc", {"a": "123"}) == "too_large"

    @pytest.mark.parametrize(
        ("settings", "expected"),
        [
            ("{}", [("missing", ("max_bytes",))]),
            ("{max_bytes: 0B}", [("greater_than", ("max_bytes",))]),
            ("{max_bytes: 2B, on_larger: keep}", [("enum", ("on_larger",))]),
        ],
    )
    def test_invalid_options_are_rejected(self, errors_of, settings, expected):
        assert errors_of(MaxSize, settings) == expected
