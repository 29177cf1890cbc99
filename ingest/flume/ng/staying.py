"""Sinks of an agent that stay in Flume, and the consumer groups that feed them."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from ingest.flume.ng.kafka import group_of, is_kafka
from ingest.flume.ng.properties import Options
from ingest.flume.ng.serializers import is_imported


@dataclass(frozen=True, slots=True)
class Staying:
    """
    Sinks that stay in Flume, of one Kafka source or channel.

    Attributes:
        sinks: their names and types, in words.
        group: brokers and consumer group that feed them.
        at: where the source or channel stands.
    """

    agent: str
    sinks: str
    group: tuple[str, str]
    at: int


def staying(agent: str, backups: Collection[str], options_of: Callable[[str], Options]) -> list[Staying]:
    """
    What stays in Flume of an agent and is fed by Kafka.

    Args:
        agent: its name.
        backups: sinks that wrote only while another one failed; they are not needed any more.
        options_of: the options below a prefix.
    """
    lists = options_of(f"{agent}.")
    sinks: dict[str, list[str]] = {}  # by channel
    for name in lists.words("sinks"):
        options = options_of(f"{agent}.sinks.{name}.")
        if not is_imported(options) and name not in backups:
            sinks.setdefault(options.text("channel"), []).append(f"{name} ({options.text('type')})")
    found = []
    for room in ("sources", "channels"):
        for name in lists.words(room):
            options = options_of(f"{agent}.{room}.{name}.")
            channels = options.words("channels") if room == "sources" else [name]
            fed = [sink for channel in channels for sink in sinks.get(channel, [])]
            if fed and is_kafka(options):
                found.append(Staying(agent, ", ".join(fed), group_of(options), options.at("type")))
    return found
