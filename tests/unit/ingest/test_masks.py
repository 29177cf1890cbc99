"""Masking of secrets in text."""

import json
import pickle
from urllib.parse import quote

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.masks import Masks

HARD = "pa ss/w\"ö'\\"


@pytest.mark.parametrize(
    "form",
    [HARD, quote(HARD, safe=""), json.dumps(HARD), orjson.dumps(HARD).decode(), repr(HARD)],
    ids=["plain", "url", "ascii json", "json", "python"],
)
def test_secret_is_hidden_in_every_form(form):
    assert Masks([HARD]).hide(f"a {form} b").replace('"', "").replace("'", "") == "a *** b"


def test_each_line_of_a_secret_is_hidden():
    assert Masks(["one\ntwo"]).hide("two, one") == "***, ***"


def test_longer_secret_is_replaced_before_one_inside_it():
    assert Masks(["abc", "abcdef"]).hide("abcdef abc") == "*** ***"


def test_without_secrets_text_is_unchanged():
    assert Masks(["", ""]).hide("a") == "a"


def test_the_mask_itself_is_not_searched_for_secrets():
    assert Masks(["*", "abc"]).hide("abc") == "***"


def test_invalid_utf8_around_a_secret_is_unchanged():
    assert Masks(["abc"]).hide_bytes(b"\xffabc\x00") == b"\xff***\x00"


def test_pickled_masks_hide_the_same():
    masks = Masks()
    masks.add("abc")
    assert pickle.loads(pickle.dumps(masks)).hide("abc") == "***"  # noqa: S301 - our own bytes


@given(secret=st.text(min_size=1).filter(lambda text: "*" not in text), around=st.text(max_size=5))
def test_no_secret_remains(secret, around):
    masked = Masks([secret]).hide(around.replace("*", "") + secret + around.replace("*", ""))
    assert secret not in masked.split("***")
