"""Sinks of an agent that remain in Flume, and their consumer groups."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from ingest.flume.ng.kafka import group_of, is_kafka
from ingest.flume.ng.properties import Options
from ingest.flume.ng.serializers import is_imported


@dataclass(frozen=True, slots=True)
class RemainingSinks:
    """
    Sinks that remain in Flume and read from one Kafka source or channel.

    Attributes:
        sinks: their names and types, for messages.
        group: brokers and consumer group of the source or channel.
        at: offset of the source or channel.
    """

    agent: str
    sinks: str
    group: tuple[str, str]
    at: int


def remaining_sinks(agent: str, backups: Collection[str], options_of: Callable[[str], Options]) -> list[RemainingSinks]:
    """
    The sinks of an agent that remain in Flume and read from Kafka.

    Args:
        agent: name of the agent.
        backups: sinks that wrote only while another one failed; they are no longer needed.
        options_of: returns the options below a prefix.
    """
    lists = options_of(f"{agent}.")
    sinks: dict[str, list[str]] = {}  # by channel
    for name in lists.words("sinks"):
        options = options_of(f"{agent}.sinks.{name}.")
        if not is_imported(options) and name not in backups:
            sinks.setdefault(options.text("channel"), []).append(f"{name} ({options.text('type')})")
    found = []
    for section in ("sources", "channels"):
        for name in lists.words(section):
            options = options_of(f"{agent}.{section}.{name}.")
            channels = options.words("channels") if section == "sources" else [name]
            fed = [sink for channel in channels for sink in sinks.get(channel, [])]
            if fed and is_kafka(options):
                found.append(RemainingSinks(agent, ", ".join(fed), group_of(options), options.at("type")))
    return found
