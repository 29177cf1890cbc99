"""Errors that several decorators raise."""

from ingest.api.errors import DecorateError


class BadAddressError(DecorateError):
    """The text is not an IP address, with on_invalid: error."""

    code = "bad_address"
    remedy = "Choose another `on_invalid`, or correct the producer; then replay the dead letters."


class NoEntryError(DecorateError):
    """The file of a decorator has no entry for the event, with on_not_found: error."""

    code = "no_entry"
    dropped = "The file of `lookup` or `geoip` has no entry, with `on_not_found: drop`."
    remedy = "Add the entry to the file, or choose another `on_not_found`; then replay the dead letters."


class NoMatchError(DecorateError):
    """No pattern of the decorator matches, with on_no_match: error."""

    code = "no_match"
    dropped = "The text does not match, with `on_no_match: drop` of `regex` or `grok`."
    remedy = "Correct the pattern, or choose another `on_no_match`; then replay the dead letters."


class TooManyPartsError(DecorateError):
    """A text has more parts than max_events of explode, or a record produces more than 131,072 events."""

    code = "too_many_parts"
    remedy = "Raise `max_events` of `explode`, or correct the producer."
