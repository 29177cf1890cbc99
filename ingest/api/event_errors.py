"""Errors of events with codes that several packages raise, some of them with errors of other classes."""

from ingest.api.errors import DecorateError, ExpressionError, MappingError


class BadAvroError(DecorateError):
    """The value is not Avro of the decorator's schema or, for format flume_avro, not an AvroFlumeEvent."""

    code = "bad_avro"
    remedy = "Set the decorator's schema to the producer's; then replay the dead letters."


class BadEncodingError(ExpressionError):
    """A value is not in the encoding that a function, decorator or cell requires."""

    code = "bad_encoding"
    dropped = "The value is not in the encoding of `convert`, with `on_invalid: drop`."
    remedy = "Set the encoding of the value, or guard with `when`."


class BadJsonError(DecorateError):
    """The text is not valid JSON, or not an object or array where one is required."""

    code = "bad_json"
    dropped = "The text is no JSON object, with `on_invalid: drop` of `json` or `flatten`."
    remedy = "Choose another `on_invalid` of `json`, or correct the producer; then replay the dead letters."


class BadTimeError(DecorateError):
    """A text is not a time in any of the formats that the decorator or function accepts."""

    code = "bad_time"
    remedy = "Add the format to the decorator's `formats`, or correct the producer; then replay the dead letters."


class NoAttributeError(DecorateError):
    """A decorator or a cell reads an attribute that the event does not have."""

    code = "no_attribute"
    remedy = "Set the attribute earlier, or choose another `on_missing`."


class NotANumberError(ExpressionError):
    """An input of a function, decorator or cell, or a capture of grok, is not a number of the required type."""

    code = "not_a_number"
    remedy = "Guard with `when`, or correct the producer; then replay the dead letters."


class NumberTooLargeError(ExpressionError):
    """A number does not fit into the required type."""

    code = "number_too_large"
    remedy = "Choose a wider encoding or `numbers: text`, round it with `%{round(n, 2)}`, or guard with `when`."


class RowKeyTooLongError(MappingError):
    """The row key has more than HBase's limit of 32767 bytes."""

    code = "row_key_too_long"
    hint = "shorten the row key, for example with a hash of the long part"


class TooDeepError(DecorateError):
    """The nesting of the JSON, record or message exceeds the limit."""

    code = "too_deep"
    remedy = "Correct the producer, or keep the value as text."


class TooLargeError(DecorateError):
    """The event, its nested names, or what is made of it is too large; see max_event_bytes, max_size, gunzip."""

    code = "too_large"
    remedy = "Raise the limit in the message, or correct the producer; then replay the dead letters."
