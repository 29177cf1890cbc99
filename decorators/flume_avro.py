"""Replace the event with the one in Flume's Avro wrapper."""

from ingest.api import Decorator, Event, Example, Settings, option
from ingest.api.event_errors import BadAvroError
from ingest.formats.avro import flume_event
from ingest.formats.headers import take_core_fields


class FlumeAvroSettings(Settings):
    """Options of the flume_avro decorator."""

    source: str | None = option("Attribute to read; the body if left out.", default=None, example="payload")

    def sets_core(self) -> frozenset[str]:
        """The body, and the fields that headers set."""
        return frozenset(["body", "host", "priority", "nanos"])


class FlumeAvro(Decorator[FlumeAvroSettings]):
    """
    Unwrap an AvroFlumeEvent: its headers become attributes, its body replaces the body.

    The headers host, priority and nanos set those fields of the event. This is what the source's `format: flume_avro`
    does; use the decorator if only some records are wrapped, with `when`, or if the wrapper is inside another format.

    Source: Flume's Kafka sink and channel with `useFlumeEventFormat` or `parseAsFlumeEvent`.
    """

    kind = "flume_avro"
    examples = (
        Example(
            "headers and body",
            body=b"\x02\x06app\x06web\0\x0ahello",
            after={"app": "web"},
            body_after="hello",
        ),
        Example(
            "an event in an attribute",
            settings="{source: payload}",
            attributes={"payload": "\0\x0ahello"},
            body="old",
            body_after="hello",
        ),
        Example("a truncated event", body=b"\0\x0ahel", error="bad_avro"),
        Example("an unknown priority", body=b"\x02\x10priority\x06LOW\0\0", error="bad_header"),
        Example("an absent attribute", settings="{source: payload}", error="no_attribute"),
    )

    def decorate(self, event: Event) -> bool:
        """Set attributes, body, host, priority and nanos."""
        value = event.text_of(self.settings.source, "to read an event from")
        try:
            body, headers = flume_event(value)
        except ValueError as error:
            raise BadAvroError(f"the value is not an AvroFlumeEvent: {error}") from error
        core = take_core_fields(headers)
        event.update(headers)
        core.apply_to(event)
        event.body = body
        return True
