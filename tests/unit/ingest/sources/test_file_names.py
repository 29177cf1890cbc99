"""Paths as text."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.sources.file_names import path_of, text_of

PIECES = st.sampled_from(
    [b"\\", b"x", b"e9", b"8", b"\xe9", b"\xc3", b"\xa9", b"\xed\xa0\x80", "é".encode(), b"a", b"%"]
)


@given(st.one_of(st.binary(max_size=12), st.lists(PIECES, max_size=8).map(b"".join)))
def test_any_path_survives_the_conversion_to_text(name: bytes):
    path = b"/in/a" + name.replace(b"\0", b"").replace(b"/", b"")
    text = text_of(Path(os.fsdecode(path)))
    assert text.encode()
    assert os.fsencode(path_of(text)) == path


@pytest.mark.parametrize(
    "name", ["/in/app.log", "/in/café été 日本.log", "/in/caf%C3%A9%20%25.log", r"/in/a\b\x41\xg9\n.log", "/in/\n"]
)
def test_utf8_names_are_unchanged(name: str):
    assert text_of(Path(name)) == name
    assert path_of(name) == Path(name)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (b"/in/caf\xe9.log", r"/in/caf\xe9.log"),
        (rb"/in/caf\xe9.log", r"/in/caf\\xe9.log"),
        (rb"/in/caf\\xe9.log", r"/in/caf\\\\xe9.log"),
        (b"/in/caf\\\xe9.log", r"/in/caf\\\xe9.log"),
    ],
)
def test_byte_and_its_escape_have_different_texts(path: bytes, text: str):
    assert text_of(Path(os.fsdecode(path))) == text
