"""The fail decorator."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators.fail import Fail
from ingest.api import DecorateError
from ingest.reference.error_pages import error_pages
from ingest.testing.events import event_of, settings_of


def failure(text, **event):
    with pytest.raises(DecorateError) as caught:
        Fail(settings_of(Fail.settings_class(), text)).decorate(event_of(**event))
    return caught.value.code, caught.value.message


def test_message_is_a_template():
    text = "{code: NEGATIVE, message: 'amount %{amount} of %{host}'}"
    assert failure(text, attributes={"amount": b"-1"}, host="web-1") == ("NEGATIVE", "amount -1 of web-1")


def test_absent_attribute_is_empty_text():
    assert failure("{code: NO_CUSTOMER, message: 'order %{order}: no customer'}") == (
        "NO_CUSTOMER",
        "order : no customer",
    )


def test_message_of_bytes_that_are_not_utf8_is_text():
    assert failure("{code: X, message: '%{body}'}", body=b"gr\xf6\xdfe") == ("X", r"gr\xf6\xdfe")


def test_error_of_a_function_is_the_error_of_the_event():
    settings = settings_of(Fail.settings_class(), "{code: X, message: '%{int(body)}'}")
    with pytest.raises(Exception) as caught:
        Fail(settings).decorate(event_of(b"seven"))
    assert caught.value.code == "not_a_number"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("{}", [("missing", ("code",)), ("missing", ("message",))]),
        ("{code: no_customer, message: x}", [("out_of_range", ("code",))]),
        ("{code: NO-CUSTOMER, message: x}", [("out_of_range", ("code",))]),
        ("{code: '', message: x}", [("out_of_range", ("code",))]),
        ('{code: "A\\n", message: x}', [("out_of_range", ("code",))]),
        (f"{{code: {'A' * 65}, message: x}}", [("out_of_range", ("code",))]),
        ("{code: 7UP, message: x}", [("out_of_range", ("code",))]),
        ("{code: A, message: '%{'}", [("bad_expression", ("message",))]),
    ],
)
def test_invalid_options_are_rejected(errors_of, settings, expected):
    assert errors_of(Fail, settings) == expected


def test_no_code_of_this_product_can_be_one_of_fail(errors_of):
    """So a code in capital letters is never added to the product."""
    for page in error_pages():
        assert errors_of(Fail, f"{{code: {page.code}, message: x}}") == [("out_of_range", ("code",))], page.code


@given(body=st.binary(max_size=40), message=st.sampled_from(["%{body}", "<%{body}> %{a}", "%{a}%{a}"]))
def test_any_bytes_give_a_message_that_utf8_can_write(body, message):
    _, text = failure(f"{{code: X, message: '{message}'}}", body=body, attributes={"a": body})
    assert text.encode().decode() == text
