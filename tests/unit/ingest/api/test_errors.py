"""Errors that plugins raise."""

from ingest.api import DecorateError


def test_message_and_code_of_other_types_become_text():
    error = DecorateError(ValueError("no number"), code=404)  # type: ignore[arg-type]
    assert (str(error), error.message, error.code) == ("no number", "no number", "404")
