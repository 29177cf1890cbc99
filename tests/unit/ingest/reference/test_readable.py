import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ingest.api import ConfigError
from ingest.api.notation import from_readable
from ingest.reference.readable import readable


@given(st.binary())
@example(b"\\x41")
@example(b"\\\\x41")
@example(b"\\\xff")
@example(b"\\x\xff")
@example("\u2028\u202e".encode())
def test_shown_bytes_are_parsed_back(value):
    shown = readable(value)
    assert shown.isprintable() or shown == ""
    assert from_readable(shown) == value


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (b"", ""),
        (b"k1-17", "k1-17"),
        ("Köln".encode(), "Köln"),
        (b"a\x00b", "a\\x00b"),
        (b"\xff", "\\xFF"),
        (b"\x1b[31m", "\\x1B[31m"),
        (b"C:\\dir", "C:\\dir"),
        (b"\\x41", "\\x5Cx41"),
        (b"a\nb", "a\\x0Ab"),
    ],
)
def test_bytes_are_shown_as_readable_text(value, shown):
    assert readable(value) == shown


def test_escapes_may_be_in_either_case():
    assert from_readable("k\\xFF\\x0a") == b"k\xff\n"


@pytest.mark.parametrize(
    ("text", "place"),
    [("a\\xzz", '"\\xzz" at character 2'), ("\\x41\\x0", '"\\x0" at character 5'), ("\\x", '"\\x" at character 1')],
)
def test_escape_without_two_digits_is_refused(text, place):
    with pytest.raises(ConfigError, match=re.escape(place)):
        from_readable(text)
