"""
Translates channel selectors of Flume 1.

Source: MultiplexingChannelSelector of Flume 1.11: events without the header, or with an unmapped value, go to the
default channels; optional channels are additional.
"""

from ingest.config import Kind
from ingest.expressions.grammar import quoted
from ingest.flume.ng.kafka import CORE_FIELDS
from ingest.flume.ng.properties import Options
from ingest.flume.pipelines.document import Component

MULTIPLEXING = "multiplexing"
_REPLICATING = "replicating"
_HEADER = "flume.selector.header"
_REASON = "selector"


def kind_of(options: Options) -> str:
    """The kind of a selector, by its alias or class, in lower case."""
    return options.text("type", _REPLICATING).rpartition(".")[2].lower().removesuffix("channelselector")


def _below(options: Options, name: str) -> list[tuple[str, str]]:
    return [(value, options.text(name + value)) for value in options.below(name)]


def selection(options: Options, channel: str, *, is_kafka: bool) -> list[Component]:
    """
    The decorator that keeps the events for a channel; none if the channel receives all events.

    Args:
        options: options of the selector.
        channel: the channel.
        is_kafka: whether the source is a Kafka source.
    """
    kind = kind_of(options)
    if kind == _REPLICATING:
        return []
    if kind != MULTIPLEXING:
        hint = "remove it from the file and use the decorator `filter`"
        options.error(Kind.UNKNOWN_COMPONENT, "type", f'the selector "{options.text("type")}" is not imported', hint)
        return []
    header = options.text("header", _HEADER)
    if header in CORE_FIELDS and not is_kafka:
        message = f'a selector by the header "{header}" is not imported: here it is a core field of the event'
        options.error(Kind.CONFLICT, "header", message, "remove it from the file and use the decorator `filter`")
        return []
    mapped = {value: names.split() for value, names in _below(options, "mapping.")}
    optional = {value for value, names in _below(options, "optional.") if channel in names.split()}
    sent = {value for value, names in mapped.items() if channel in names} | optional
    values = sorted(set(mapped) - sent) if channel in options.words("default") else sorted(sent)
    word = "drop" if channel in options.words("default") else "keep"
    if not values and word == "keep":
        options.error(Kind.CONFLICT, "type", f'the selector sends no events to the channel "{channel}"')
    if not values:
        return []
    condition = f"%{{{quoted(header)}}} in ({', '.join(map(quoted, values))})"
    remarks = [*options.comments(), f"the selector: events for the channel {channel}"]
    place = options.original.place(options.at("type"))
    return [Component("filter", {word: condition, "reason": _REASON}, remarks, place)]
