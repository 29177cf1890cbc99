"""
Channel selectors of Flume 1: which events of a source come to a channel.

Source: MultiplexingChannelSelector of Flume 1.11: a header without a value, and a value that is not mapped, go to the
default channels; optional ones come on top of those.
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
    """What a selector is by its name or its class, in small letters."""
    return options.text("type", _REPLICATING).rpartition(".")[2].lower().removesuffix("channelselector")


def _below(options: Options, name: str) -> list[tuple[str, str]]:
    return [(value, options.text(name + value)) for value in options.below(name)]


def selection(options: Options, channel: str, *, is_kafka: bool) -> list[Component]:
    """
    The decorator that keeps what the selector sends to a channel; none when it sends all there.

    Args:
        options: of the selector.
        channel: the one that is read.
        is_kafka: its source is one of Kafka's.
    """
    kind = kind_of(options)
    if kind == _REPLICATING:
        return []
    if kind != MULTIPLEXING:
        hint = "take it out of the file and choose events with the decorator `filter`"
        options.error(Kind.UNKNOWN_COMPONENT, "type", f'the selector "{options.text("type")}" is not imported', hint)
        return []
    header = options.text("header", _HEADER)
    if header in CORE_FIELDS and not is_kafka:
        message = f'a selector by the header "{header}" is not imported: here that is a part of the event'
        options.error(Kind.CONFLICT, "header", message, "take it out of the file and write a decorator `filter`")
        return []
    mapped = {value: names.split() for value, names in _below(options, "mapping.")}
    optional = {value for value, names in _below(options, "optional.") if channel in names.split()}
    sent = {value for value, names in mapped.items() if channel in names} | optional
    values = sorted(set(mapped) - sent) if channel in options.words("default") else sorted(sent)
    word = "drop" if channel in options.words("default") else "keep"
    if not values and word == "keep":
        options.error(Kind.CONFLICT, "type", f'the selector sends nothing to the channel "{channel}"')
    if not values:
        return []
    condition = f"%{{{quoted(header)}}} in ({', '.join(map(quoted, values))})"
    said = [*options.comments(), f"the selector: what comes to the channel {channel}"]
    place = options.original.place(options.at("type"))
    return [Component("filter", {word: condition, "reason": _REASON}, said, place)]
